"""Input pipelines in tf.data and PyTorch's DataLoader, beside tests/bench/pipeline_speed.

    python3 pipeline_peers.py --peer tf --case photos --photos DIR --threads 2 --seconds 10

Prints one line of JSON, as pipeline_speed does.
"""

import argparse
import glob
import io
import json
import os
import time

BATCH = {"photos": 64, "elements": 128}
MEAN = (0.485, 0.456, 0.406)
DEVIATION = (0.229, 0.224, 0.225)


def read_photos(folder):
    paths = [path for path in sorted(glob.glob(os.path.join(folder, "**", "*.*"), recursive=True))
             if path.lower().endswith((".jpg", ".jpeg"))]
    if not paths:
        raise SystemExit(f"{folder} holds no .jpg files")
    return [open(path, "rb").read() for path in paths]


def measure(batches, rows, seconds):
    iterator = iter(batches)
    for _ in range(3):
        next(iterator)
    begin, count = time.perf_counter(), 0
    while time.perf_counter() - begin < seconds:
        next(iterator)
        count += rows
    return count / (time.perf_counter() - begin)


def tf_photos(args):
    import tensorflow as tf

    tf.config.threading.set_inter_op_parallelism_threads(args.threads)
    tf.config.threading.set_intra_op_parallelism_threads(args.threads)

    def load(content):
        shape = tf.image.extract_jpeg_shape(content)
        begin, size, _ = tf.image.sample_distorted_bounding_box(
            shape, tf.zeros([1, 0, 4]), area_range=(0.08, 1.0), aspect_ratio_range=(3 / 4, 4 / 3),
            use_image_if_no_bounding_boxes=True)
        window = tf.stack([begin[0], begin[1], size[0], size[1]])
        image = tf.image.decode_and_crop_jpeg(content, window, channels=3)
        image = tf.image.resize(image, [224, 224])
        image = tf.image.random_flip_left_right(image)
        return (image / 255.0 - MEAN) / DEVIATION

    photos = tf.constant(read_photos(args.photos))
    options = tf.data.Options()
    options.threading.private_threadpool_size = args.threads
    dataset = (tf.data.Dataset.from_tensor_slices(photos).shuffle(photos.shape[0]).repeat()
               .map(load, num_parallel_calls=args.threads).batch(BATCH["photos"]).prefetch(2)
               .with_options(options))
    return measure(dataset, BATCH["photos"], args.seconds)


def tf_elements(args):
    import tensorflow as tf

    dataset = tf.data.Dataset.range(1 << 40).map(lambda x: x + 1).batch(BATCH["elements"]).prefetch(2)

    return measure(dataset, BATCH["elements"], args.seconds)


def torch_photos(args, decoder):
    import torch
    from PIL import Image
    from torchvision import io as tvio
    from torchvision import transforms

    torch.set_num_threads(1)
    photos = read_photos(args.photos)
    common = [transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip()]
    last = [transforms.Normalize(MEAN, DEVIATION)]
    pil = transforms.Compose(common + [transforms.ToTensor()] + last)
    tensor = transforms.Compose(common + [transforms.ConvertImageDtype(torch.float32)] + last)
    buffers = [torch.frombuffer(bytearray(p), dtype=torch.uint8) for p in photos]

    class Photos(torch.utils.data.IterableDataset):
        def __iter__(self):
            generator = torch.Generator().manual_seed(torch.initial_seed() % (1 << 31))
            while True:
                for i in torch.randperm(len(photos), generator=generator).tolist():
                    if decoder == "pil":
                        yield pil(Image.open(io.BytesIO(photos[i])).convert("RGB"))
                    else:
                        yield tensor(tvio.decode_jpeg(buffers[i], tvio.ImageReadMode.RGB))

    loader = torch.utils.data.DataLoader(Photos(), batch_size=BATCH["photos"],
                                         num_workers=args.threads, prefetch_factor=2)
    return measure(loader, BATCH["photos"], args.seconds)


def torch_elements(args, workers):
    import torch

    class Range(torch.utils.data.IterableDataset):
        def __iter__(self):
            i = 0
            while True:
                yield i + 1
                i += 1

    loader = torch.utils.data.DataLoader(Range(), batch_size=BATCH["elements"], num_workers=workers)
    return measure(loader, BATCH["elements"], args.seconds)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", choices=["tf", "torch"], required=True)
    parser.add_argument("--case", choices=["photos", "elements"], required=True)
    parser.add_argument("--photos", default=".")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=10)
    args = parser.parse_args()
    if args.peer == "tf":
        rates = {"tf.data": {"photos": tf_photos, "elements": tf_elements}[args.case](args)}
    elif args.case == "photos":
        rates = {f"DataLoader, {d}": torch_photos(args, d) for d in ("pil", "torchvision")}
    else:
        rates = {f"DataLoader, {w} workers": torch_elements(args, w) for w in (0, 1)}
    peer, rate = max(rates.items(), key=lambda item: item[1])
    print(json.dumps({"peer": peer, "case": args.case, "per_second": rate, "nanoseconds": 1e9 / rate}))


if __name__ == "__main__":
    main()
