#include "belfry/hooks/report_page.h"

#include <algorithm>
#include <array>
#include <ctime>

#include "belfry/data/formats/images/image.h"
#include "belfry/framework/base/text.h"
#include "belfry/hooks/html.h"
#include "belfry/hooks/printed.h"
#include "belfry/hooks/report_chart.h"
#include "belfry/hooks/report_style.h"

namespace belfry::hooks {
namespace {

std::string percent(double share) {
  return printed("%.1f", 100 * std::clamp(share, 0.0, 1.0)) + "%";
}

std::string section(const std::string& title, const std::string& classes, const std::string& body) {
  if (body.empty()) return {};
  return concat("<section>\n<h2>", title, "</h2>\n<div class=\"", classes, "\">\n", body,
                "</div>\n</section>\n");
}

std::string header(const ReportData& data) {
  std::string state = data.outcome ? to_string(*data.outcome) : "running";
  std::string out = concat("<header>\n<h1>", escape_html(data.title), "</h1>\n<p class=\"dim\">",
                           escape_html(data.model_dir), "</p>\n<p><span class=\"state ", state,
                           "\">", state, "</span> step ", data.step);
  if (data.last_step) out += concat(" of ", *data.last_step);
  out += ", written " + date_text(data.written) + "</p>\n";
  if (!data.reason.empty())
    out += concat("<p class=\"reason ", state, "\">", escape_html(data.reason), "</p>\n");
  if (data.last_step && *data.last_step > 0)
    out += concat("<div class=\"done ", state, "\"><div style=\"width:",
                  percent(static_cast<double>(data.step) / static_cast<double>(*data.last_step)),
                  "\"></div></div>\n");
  return out + "</header>\n";
}

bool is_loss(const CurveKey& key) { return key.group == CurveGroup::value && key.name == "loss"; }
std::string unit_of(const CurveKey& key) {
  return key.group == CurveGroup::speed && key.name == waiting_for_input ? "%" : "";
}
std::string evaluation_name(const CurveKey& key) {
  return key.series.empty() ? "evaluation" : "evaluation " + key.series;
}

// The latest numbers at a glance.
std::string tiles(const ReportData& data) {
  constexpr int most = 8;
  std::string out;
  int count = 0;
  auto add = [&](const std::string& name, const std::string& value) {
    if (++count <= most)
      out += concat("<div class=\"tile\"><b>", value, "</b><span>", escape_html(name),
                    "</span></div>\n");
  };
  for (const auto& [key, curve] : data.curves) {
    if (is_loss(key)) add(key.name, short_value(curve.latest()));
    if (key.group == CurveGroup::speed)
      add(key.name, short_value(curve.latest(), 3) + unit_of(key));
  }
  for (const auto& [key, curve] : data.curves)
    if (key.group == CurveGroup::evaluation)
      add(key.name + ", " + evaluation_name(key), short_value(curve.latest()));
  return out.empty() ? out : "<section class=\"tiles\">\n" + out + "</section>\n";
}

// One a name.
std::string charts(const ReportData& data, CurveGroup group) {
  std::vector<Chart> list;
  for (const auto& [key, curve] : data.curves) {
    if (key.group != group) continue;
    if (list.empty() || list.back().title != key.name)
      list.push_back({.title = key.name, .unit = unit_of(key)});
    list.back().from_zero = group == CurveGroup::speed;
    list.back().lines.push_back({key.series.empty() ? key.name : key.series, &curve});
  }
  std::string out;
  for (const Chart& chart : list) out += chart_html(chart);
  return out;
}

// The loss first; a metric that is also a value of training goes with it.
std::string training_charts(const ReportData& data) {
  std::vector<Chart> list;
  auto chart_of = [&](const std::string& title) -> Chart& {
    auto found = std::ranges::find(list, title, &Chart::title);
    return found == list.end() ? list.emplace_back(Chart{.title = title}) : *found;
  };
  for (const auto& [key, curve] : data.curves)
    if (is_loss(key)) chart_of(key.name).lines.push_back({"training", &curve});
  for (const auto& [key, curve] : data.curves)
    if (key.group == CurveGroup::value && !is_loss(key))
      chart_of(key.name).lines.push_back({"training", &curve});
  for (const auto& [key, curve] : data.curves)
    if (key.group == CurveGroup::evaluation)
      chart_of(key.name).lines.push_back({evaluation_name(key), &curve});
  std::string out;
  for (const Chart& chart : list) out += chart_html(chart);
  return out;
}

std::string histograms(const ReportData& data) {
  std::string out;
  for (const auto& [key, curve] : data.curves) {
    if (key.group != CurveGroup::histogram || key.series != "50") continue;
    auto at = [&, name = key.name](const char* percentile) {
      auto found = data.curves.find({CurveGroup::histogram, name, percentile});
      return found == data.curves.end() ? nullptr : &found->second;
    };
    Chart chart{.title = key.name, .lines = {{"median", &curve}}};
    if (at("5") && at("95")) chart.bands.push_back({"5% to 95%", at("5"), at("95")});
    if (at("25") && at("75")) chart.bands.push_back({"25% to 75%", at("25"), at("75")});
    out += chart_html(chart);
  }
  return out;
}

// The words of breakdown_text(), of which hidden reductions cost no time.
std::string time_spent(const TimeSpent& t) {
  if (t.all <= 0) return {};
  const StepTimes& s = t.steps;
  double known = t.waited + s.copy + s.compute + s.transfer + s.exposed_reduction + s.apply;
  struct Row {
    const char *name, *classes, *meaning;
    double seconds;
  };
  const Row rows[] = {{"input", "c1", "waiting for the next batch", t.waited},
                      {"copy", "c5", "bringing the batch to the device, and results back", s.copy},
                      {"compute", "c0", "forward and backward", s.compute},
                      {"transfer", "c4", "waiting for other slots of a tower", s.transfer},
                      {"reduce", "c3", "waiting for sums over towers", s.exposed_reduction},
                      {"apply", "c2", "the optimizer", s.apply},
                      {"other", "other", "between steps: hooks, checkpoints, evaluation",
                       std::max(0.0, t.all - known)}};
  std::string bar, table;
  for (const Row& row : rows) {
    if (row.seconds <= 0) continue;
    bar += concat("<div class=\"", row.classes, "\" style=\"width:", percent(row.seconds / t.all),
                  "\" title=\"", row.name, "\"></div>");
    table += concat("<tr><td><i class=\"", row.classes, "\"></i>", row.name, "</td><td>",
                    percent(row.seconds / t.all), "</td><td>", printed("%.1f s", row.seconds),
                    "</td><td class=\"dim\">", row.meaning, "</td></tr>\n");
  }
  if (s.hidden_reduction > 0)
    table += concat("<tr><td>hidden</td><td>+", percent(s.hidden_reduction / t.all), "</td><td>",
                    printed("%.1f s", s.hidden_reduction),
                    "</td><td class=\"dim\">sums over towers beside computing</td></tr>\n");
  return concat("<div class=\"bar\" aria-hidden=\"true\">", bar,
                "</div>\n<div class=\"scroll\" tabindex=\"0\"><table class=\"parts\">\n", table,
                "</table></div>\n");
}

std::string stages(const std::vector<InputStage>& list) {
  if (list.empty()) return {};
  std::string out =
      "<div class=\"scroll\" tabindex=\"0\"><table>\n<tr><th>stage</th><th>elements</th><th>bytes"
      "</th><th>busy</th><th>upstream</th><th>downstream</th><th>queue</th><th>buffer</th>"
      "<th>workers</th></tr>\n";
  for (const InputStage& s : list) {
    out += concat("<tr><td class=\"depth\">",
                  std::string(2 * static_cast<std::size_t>(s.depth), ' '), escape_html(s.name),
                  "</td><td>", s.elements, "</td><td>", bytes_text(s.bytes), "</td>");
    for (double seconds : {s.busy, s.upstream, s.downstream})
      out += "<td>" + printed("%.2f s", seconds) + "</td>";
    out += concat("<td>", printed("%.1f", s.queue), "</td><td>", s.buffer, "</td><td>", s.workers,
                  "</td></tr>\n");
  }
  return out + "</table></div>\n";
}

// Small ones are enlarged by whole numbers, up to some 120 pixels.
std::string images(const ReportData& data) {
  std::string out;
  for (const auto& [name, shown] : data.images) {
    out += concat("<figure class=\"card\"><figcaption><b>", escape_html(name),
                  "</b> <span class=\"now\">at step ", shown.step,
                  "</span></figcaption><div class=\"row\">\n");
    for (std::size_t i = 0; i < shown.images.size(); ++i) {
      std::int64_t width = shown.images[i].shape()[1];
      out += concat("<img src=\"data:image/png;base64,", base64(data::encode_png(shown.images[i])),
                    "\" alt=\"", escape_html(name), ", ", i + 1, " of ", shown.images.size(),
                    ", at step ", shown.step, "\" width=\"",
                    width * std::max<std::int64_t>(1, 120 / width), "\"/>\n");
    }
    out += "</div></figure>\n";
  }
  return out;
}

std::string texts(const ReportData& data) {
  std::string out;
  for (const auto& [name, shown] : data.texts)
    out += concat("<figure class=\"card\"><figcaption><b>", escape_html(name),
                  "</b> <span class=\"now\">at step ", shown.step,
                  "</span></figcaption><pre class=\"text\">", escape_html(shown.text),
                  "</pre></figure>\n");
  return out;
}

std::string facts(const ReportData& data) {
  std::string out;
  for (const auto& [name, value] : data.facts)
    out += "<dt>" + escape_html(name) + "</dt><dd>" + escape_html(value) + "</dd>\n";
  return out.empty() ? out : "<dl class=\"facts\">\n" + out + "</dl>\n";
}

std::string plan(const ReportData& data) {
  if (data.plan.empty()) return {};
  return "<div class=\"scroll\" tabindex=\"0\"><pre>" + escape_html(data.plan) + "</pre></div>\n";
}

}  // namespace

std::string report_page(const ReportData& data) {
  return concat(
      "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n"
      "<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
      "style-src 'unsafe-inline'; script-src 'unsafe-inline'\"/>\n<title>",
      escape_html(data.title), "</title>\n<style>", report_style, "</style>\n</head>\n<body>\n",
      "<main>\n", header(data), tiles(data), section("Training", "charts", training_charts(data)),
      section("Images", "images", images(data)), section("Texts", "images", texts(data)),
      section("Summaries", "charts", charts(data, CurveGroup::scalar) + histograms(data)),
      section("Learning rate and speed", "charts",
              charts(data, CurveGroup::rate) + charts(data, CurveGroup::speed)),
      section("Where the time of this training went", "card", time_spent(data.time)),
      section("Input stages, the last one first", "card", stages(data.stages)),
      section("Run", "card", facts(data)), section("Plan", "card", plan(data)), "</main>\n<script>",
      report_script, "</script>\n</body>\n</html>\n");
}

std::string date_text(double seconds) {
  auto time = static_cast<std::time_t>(seconds);
  std::tm utc{};
  gmtime_r(&time, &utc);
  std::array<char, 32> text;
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &utc);
  return text.data();
}

}  // namespace belfry::hooks
