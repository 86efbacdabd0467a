#pragma once
// Whether a page is well-formed XML, as far as pages of this project go.

#include <cctype>
#include <string>
#include <string_view>
#include <vector>

namespace belfry::hooks {

/// The fault in `page`, and its place; nothing if each element is closed in its order, attributes
/// are quoted and not repeated, and < and & stand for themselves nowhere. Knows no comments.
inline std::string xml_fault(std::string_view page) {
  auto fault = [&](const char* what, std::size_t at) {
    return std::string(what) + " at `" + std::string(page.substr(at, 60)) + "`";
  };
  auto name_end = [&](std::size_t at) {
    while (at < page.size()
           && (std::isalnum(static_cast<unsigned char>(page[at])) != 0 || page[at] == '-'
               || page[at] == ':'))
      ++at;
    return at;
  };
  auto is_entity = [&](std::size_t at) {
    for (std::string_view known : {"&lt;", "&gt;", "&amp;", "&quot;", "&#39;"})
      if (page.substr(at).starts_with(known)) return true;
    return false;
  };
  constexpr std::string_view doctype = "<!DOCTYPE html>";
  if (!page.starts_with(doctype)) return fault("no DOCTYPE", 0);
  std::vector<std::string> open;
  bool any = false;
  for (std::size_t at = doctype.size(); at < page.size(); ++at) {
    if (page[at] == '&' && !is_entity(at)) return fault("a bare &", at);
    if (page[at] != '<') {
      if (open.empty() && page[at] != '\n') return fault("text outside", at);
      continue;
    }
    std::size_t begin = at;
    bool closing = page[at + 1] == '/';
    std::size_t end = name_end(at += closing ? 2 : 1);
    std::string name(page.substr(at, end - at));
    if (name.empty() || (open.empty() && any)) return fault("no element", begin);
    any = true;
    std::vector<std::string> attributes;
    for (at = end; page[at] == ' '; at = page.find('"', at) + 1) {
      end = name_end(++at);
      if (page.substr(end, 2) != "=\"") return fault("no quoted attribute", begin);
      for (const std::string& other : attributes)
        if (other == page.substr(at, end - at)) return fault("a repeated attribute", begin);
      attributes.emplace_back(page.substr(at, end - at));
      at = end + 2;
      for (std::size_t i = at; page[i] != '"'; ++i) {
        if (i + 1 >= page.size() || page[i] == '<') return fault("an open attribute", begin);
        if (page[i] == '&' && !is_entity(i)) return fault("a bare &", i);
      }
    }
    bool alone = page[at] == '/';
    if (alone) ++at;
    if (page[at] != '>') return fault("an open tag", begin);
    if (closing) {
      if (open.empty() || open.back() != name) return fault("a wrong end", begin);
      open.pop_back();
    } else if (!alone) {
      open.push_back(name);
    }
  }
  return open.empty() ? "" : "not closed: " + open.back();
}

}  // namespace belfry::hooks
