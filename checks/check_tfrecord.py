#!/usr/bin/env python3
"""Checks Driftless' PF-net records against an independent reader and writer.

Run from anywhere, with numpy and Pillow installed:

    python3 checks/check_tfrecord.py [FILE.tfrecords ...]

Nothing is shared with the Rust code: CRC-32C, TFRecord frames, protobuf and preprocessing are
written here once more; PNGs go through Pillow. Three directions are checked: what Driftless writes
is read here; what is written here, with TensorFlow's freedoms (any order of names, unknown fields,
palettes, opacity, 16 bits), is read by Driftless; damaged files are refused by Driftless. Files
named on the command line are read by both sides and compared. Exits with 1 on the first difference.
"""

import io
import pathlib
import struct
import subprocess
import sys
import tempfile

import numpy as np
from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parent.parent
RUN = ["cargo", "run", "--release", "--quiet", "--package", "driftless-world", "--example", "tfrecord_check", "--"]


def crc_table():
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
        yield value


TABLE = list(crc_table())


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def frame(data):
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked_crc(length)) + data + struct.pack("<I", masked_crc(data))


def records(path):
    data = path.read_bytes()
    position = 0
    while position < len(data):
        (length,) = struct.unpack_from("<Q", data, position)
        record = data[position + 12 : position + 12 + length]
        assert frame(record) == data[position : position + 16 + length], f"frame at byte {position}"
        yield record
        position += 16 + length
    assert position == len(data), "the last frame is cut"


def take_varint(data, position):
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, position


def fields(data):
    """All fields of a message; Driftless writes nothing but length-delimited ones."""
    position = 0
    while position < len(data):
        tag, position = take_varint(data, position)
        assert tag & 7 == 2, f"wire type {tag & 7}"
        length, position = take_varint(data, position)
        assert position + length <= len(data), "a value beyond its message"
        yield tag >> 3, data[position : position + length]
        position += length


def parse_example(record):
    features = {}
    ((number, feature_map),) = fields(record)
    assert number == 1
    for number, entry in fields(feature_map):
        assert number == 1
        (one, name), (two, feature) = fields(entry)
        ((kind, values),) = fields(feature)
        assert (one, two, kind) == (1, 2, 1), "a byte-string feature"
        assert name.decode() not in features
        features[name.decode()] = [value for _, value in fields(values)]
    return features


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


# Unknown fields of every wire type: varint, 8 bytes, text, 4 bytes, and a group with a field inside.
UNKNOWN = (
    varint(15 << 3) + varint(2**63)
    + varint(16 << 3 | 1) + b"8 bytes!"
    + field(17, b"text")
    + varint(18 << 3 | 5) + b"four"
    + varint(19 << 3 | 3) + field(1, b"inside") + varint(19 << 3 | 4)
)


def free_example(features):
    """An example as TensorFlow might write it one day: unsorted, with fields nobody knows yet."""
    entries = b""
    for name, values in features.items():
        values = UNKNOWN + b"".join(field(1, value) for value in values) + UNKNOWN
        feature = UNKNOWN + field(1, values)
        entries += field(1, UNKNOWN + field(2, feature) + field(1, name.encode()))
    counts = b"".join(varint(1 << 3) + varint(number) for number in (1, 2**40))
    entries += field(1, field(1, b"unpacked integers") + field(2, field(3, counts)))
    return UNKNOWN + field(1, entries + UNKNOWN)


def pixels(png):
    image = Image.open(io.BytesIO(png))
    if image.mode in ("P", "RGBA"):
        image = image.convert("RGB")
    return np.array(image)


def png(array, mode=None):
    image = Image.fromarray(array)
    if mode:
        image = image.convert(mode)
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def resized(image, side):
    """Bilinear with half-pixel centres, by matrices."""

    def weights(source):
        matrix = np.zeros((side, source))
        for row in range(side):
            centre = min(max((row + 0.5) * source / side - 0.5, 0), source - 1)
            matrix[row] = np.maximum(0, 1 - np.abs(np.arange(source) - centre))
        return matrix

    planes = image.reshape(*image.shape[:2], -1).astype(np.float64)
    return np.einsum("ih,hwc,jw->ijc", weights(image.shape[0]), planes, weights(image.shape[1]))


def expected_arrays(features, side):
    """Every array Driftless should dump, with the tolerance it may differ by."""
    maps = {name: pixels(features[name][0]) for name in features if name.startswith("map_")}
    arrays = {name: (array, 0) for name, array in maps.items()}
    for name in ("states", "odometry"):
        arrays[name] = (np.frombuffer(features[name][0], "<f4").reshape(-1, 3), 0)
    odometry = arrays["odometry"][0]
    stacks = {}
    for name in ("rgb", "depth"):
        if name in features:
            images = [pixels(image) for image in features[name]]
            if side:
                images = [resized(image, side) for image in images]
            stacks[name] = np.stack(images).reshape(len(images), *images[0].shape[:2], -1)
            arrays[name] = (stacks[name], 0.5001 if side else 0)
    types = maps["map_roomtype"].T[..., None] >> np.arange(9) & 1
    walls = [(255 - maps[name].T[..., None].astype(float)) for name in ("map_wall", "map_door")]
    arrays["network_map"] = (np.concatenate([*walls, types * 255.0], axis=-1) * 2 / 255, 1e-6)
    if len(stacks) == 2:
        arrays["actions"] = (np.concatenate([np.zeros((1, 3), "f4"), odometry[:-1]]), 0)
        scaled = [stacks["rgb"] * (2 / 255) - 1.0, stacks["depth"] * (2 / 100) - 1.0]
        tolerance = 0.0101 if side else 2e-4 * max(1, stacks["depth"].max() / 1000)
        arrays["network_observation"] = (np.concatenate(scaled, axis=-1), tolerance)
    return arrays


def run(*arguments, succeed=True):
    done = subprocess.run([*RUN, *map(str, arguments)], cwd=ROOT, capture_output=True, text=True)
    if succeed and done.returncode:
        sys.exit(f"driftless failed: {done.stderr}")
    assert succeed or done.returncode, f"{arguments} should have been refused"
    return done.stderr


def compare(path, side=None):
    """Reads `path` with both programs and compares every number."""
    with tempfile.TemporaryDirectory() as folder:
        run("dump", path, folder, side or "raw")
        dumped = {file.name for file in pathlib.Path(folder).iterdir()}
        compared = numbers = 0
        for index, record in enumerate(records(path)):
            features = FREE.get(record) or parse_example(record)
            for name, (expected, tolerance) in expected_arrays(features, side).items():
                (file,) = [file for file in dumped if file.startswith(f"{index}.{name}.")]
                dumped.remove(file)
                found = np.fromfile(pathlib.Path(folder, file), "<" + file.rsplit(".", 1)[1])
                assert found.size == expected.size, f"{path}: {file}: {found.size} numbers, not {expected.size}"
                worst = np.abs(found.astype(float) - expected.reshape(-1).astype(float)).max()
                assert worst <= tolerance, f"{path}: {file} differs by {worst}"
                compared, numbers = compared + 1, numbers + found.size
        assert not dumped, f"dumped without reason: {dumped}"
        print(f"ok: {path.name}, {'raw' if side is None else side} images: {compared} arrays, {numbers} numbers agree")


# Records written here and the features in them: `parse_example` is as strict as our own writer.
FREE = {}


def write_freely(path):
    rng = np.random.default_rng(5)
    noise = lambda *shape: rng.integers(0, 256, shape, dtype=np.uint8)
    steps = 3
    features = {
        "states": [rng.normal(size=(steps, 3)).astype("<f4").tobytes()],
        "rgb": [png(noise(30, 41, 3)), png(noise(30, 41, 3), "P"), png(noise(30, 41, 4))],
        "map_wall": [png(noise(9, 14))],
        "odometry": [rng.normal(size=(steps, 3)).astype("<f4").tobytes()],
        "map_roomid": [png(rng.integers(0, 65536, (9, 14)).astype(np.uint16))],
        "depth": [png(noise(20, 25)) for _ in range(steps)],
        "map_roomtype": [png(rng.integers(0, 512, (9, 14)).astype(np.uint16))],
        "map_door": [png(rng.integers(0, 256, (9, 14)).astype(np.uint16))],
    }
    record = free_example(features)
    FREE[record] = features
    path.write_bytes(frame(record) + frame(record))


def refuse_damage(path):
    data = bytearray(path.read_bytes())
    broken = path.with_name("broken.tfrecords")
    for at, expected in ((3, "length has a wrong checksum"), (len(data) // 8, "damaged: the data"), (-1, "damaged")):
        damaged = bytearray(data)
        damaged[at] ^= 4
        broken.write_bytes(damaged)
        message = run("dump", broken, path.parent, "raw", succeed=False)
        assert expected in message and "record" in message, message
    broken.write_bytes(data[:-3])
    message = run("dump", broken, path.parent, "raw", succeed=False)
    assert "truncated" in message, message
    print("ok: damaged files are refused")


def main():
    assert masked_crc(b"123456789") == 0xC78AB0E5  # CRC-32C's check value 0xE3069283, masked by hand
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = pathlib.Path(folder, "ours.tfrecords"), pathlib.Path(folder, "theirs.tfrecords")
        run("sample", ours)
        first = next(records(ours))
        assert list(parse_example(first)) == sorted(parse_example(first)), "names are sorted"
        compare(ours)
        compare(ours, 56)
        write_freely(theirs)
        compare(theirs, 56)
        compare(theirs, 11)
        refuse_damage(ours)
    for path in sys.argv[1:]:
        compare(pathlib.Path(path).resolve())


if __name__ == "__main__":
    try:
        main()
    except AssertionError as error:
        sys.exit(f"FAILED: {error}")
