//! Files damaged in every way: an error or other numbers, never a panic.

use super::*;
use driftless_world::random::Random;

/// A file of one tensor with this header and so many zero bytes, as `load` and `read` evaluate it.
fn evaluated(folder: &Folder, header: &str, data: usize) -> String {
    let file = folder.0.join("a.safetensors");
    fs::write(&file, [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &vec![0; data]].concat())
        .unwrap();
    let error =
        read(&file, "weights").map_or_else(|error| error.to_string(), |tensors| format!("{tensors:?}"));
    error.replace(&file.display().to_string(), "FILE")
}

#[test]
fn hostile_headers_are_refused() {
    let folder = Folder::new("hostile");
    let read = |header: &str, data: usize| evaluated(&folder, header, data);
    let tensor = |name: &str, dtype: &str, shape: &str, offsets: &str| {
        format!(r#""{name}":{{"dtype":"{dtype}","shape":{shape},"data_offsets":{offsets}}}"#)
    };
    let one = tensor("a", "F32", "[2]", "[0,8]");
    assert!(read(&format!("{{{one}}}"), 8).starts_with("[Named { name: \"a\""), "others' files are read");
    let cases = [
        (format!("{{{one}}}"), 7, "tensors take 8 bytes, but 7 follow"),
        (format!("{{{one}}}"), 9, "tensors take 8 bytes, but 9 follow"),
        (format!("{{{one},{}}}", tensor("b", "F32", "[2]", "[4,12]")), 12, "invalid offset for tensor `b`"),
        (format!("{{{one},{}}}", tensor("b", "F32", "[2]", "[12,20]")), 20, "invalid offset for tensor `b`"),
        (format!("{{{}}}", tensor("a", "F32", "[2]", "[8,0]")), 8, "invalid offset for tensor `a`"),
        (format!("{{{}}}", tensor("a", "F32", "[3]", "[0,8]")), 8, "invalid shape"),
        (format!("{{{}}}", tensor("a", "F32", "[4294967296,4294967296,4]", "[0,8]")), 8, "overflow"),
        (
            format!("{{{}}}", tensor("a", "F32", "[4611686018427387903]", "[0,18446744073709551612]")),
            8,
            "FILE: ",
        ),
        (
            format!("{{{}}}", tensor("a", "F16", "[4]", "[0,8]")),
            8,
            "tensor a: is F16; only F32 and F64 are read",
        ),
        ("[]".to_owned(), 0, "is not a whole safetensors file"),
        (String::new(), 0, "is not a whole safetensors file"),
        (r#"{"__metadata__":{"creator":"driftless","format":"3"}}"#.to_owned(), 0, "has format \"3\""),
        (
            r#"{"__metadata__":{"creator":"driftless","format":"1","kind":"cake"}}"#.to_owned(),
            0,
            "holds \"cake\"",
        ),
    ];
    for (header, data, message) in cases {
        let found = read(&header, data);
        assert!(found.starts_with("FILE: ") && found.contains(message), "{found}");
    }
}

#[test]
fn a_header_cannot_claim_more_than_there_is() {
    let folder = Folder::new("claims");
    let file = folder.0.join("b.safetensors");
    fs::write(&file, u64::MAX.to_le_bytes()).unwrap();
    assert!(
        read(&file, "weights").unwrap_err().to_string().contains("its header claims 18446744073709551615")
    );
    assert!(read(folder.0.join("none"), "weights").unwrap_err().to_string().contains("cannot open"));
}

/// Cut anywhere, or with any one bit changed: an error that names the file.
#[test]
fn damage_is_always_noticed() {
    let folder = Folder::new("damage");
    let file = folder.0.join("a.safetensors");
    let whole = encode("weights", &[], &values(&net(3, DType::F32))).unwrap();
    for length in 0..whole.len() {
        fs::write(&file, &whole[..length]).unwrap();
        let error = load(&file, net(1, DType::F32)).unwrap_err().to_string();
        assert!(error.starts_with(&file.display().to_string()), "{error}");
    }
    let mut random = Random::new(1);
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (random.bits() % 8);
        fs::write(&file, &bytes).unwrap();
        let error = load(&file, net(1, DType::F32)).unwrap_err().to_string();
        assert!(error.starts_with(&file.display().to_string()), "byte {at}: {error}");
    }
}

#[test]
fn what_is_not_finite_is_neither_written_nor_read() {
    let folder = Folder::new("nan");
    let file = folder.0.join("a.safetensors");
    let mut wrong = values(&net(1, DType::F32));
    wrong[1].values[2] = f64::NAN;
    let error = write(&file, "weights", &wrong).unwrap_err().to_string();
    assert!(error.ends_with("tensor layers.0.bias: holds NaN; such weights are not written"), "{error}");
    assert!(!file.exists());
    // A file of others, which has no checksum.
    let header = br#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#;
    let length = (header.len() as u64).to_le_bytes();
    fs::write(&file, [&length, header.as_slice(), &f32::INFINITY.to_le_bytes()].concat()).unwrap();
    let error = read(&file, "weights").unwrap_err().to_string();
    assert!(error.ends_with("tensor a: holds inf at 0; use an older file"), "{error}");
}
