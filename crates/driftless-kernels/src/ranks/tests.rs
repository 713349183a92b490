use super::*;

type Odd = (Vec<(String, Option<[f32; 3]>)>, (bool, Vec<Vec<f64>>));

fn odd() -> Odd {
    let words = vec![("a".to_owned(), Some([1.5, f32::NAN, -0.0])), (String::new(), None)];
    (words, (true, vec![vec![1e300, f64::INFINITY], Vec::new()]))
}

fn bytes_of(message: &mut impl Message) -> Vec<u8> {
    let mut wire = Wire::sending();
    message.pass(&mut wire);
    wire.into_bytes()
}

/// To the bit, NaN and signs of zeros too; whatever was there before is gone.
#[test]
fn what_is_sent_is_what_comes() {
    let bytes = bytes_of(&mut odd());
    let mut found: Odd = (vec![("before".to_owned(), Some([7.0; 3])); 5], (false, vec![vec![1.0; 9]; 4]));
    let mut wire = Wire::receiving(&bytes);
    found.pass(&mut wire);
    wire.end().unwrap();
    assert_eq!(format!("{found:?}"), format!("{:?}", odd()));
    assert_eq!(bytes_of(&mut found), bytes, "zeros have their sign");
}

/// No cut and no count takes memory, or ends in anything but a word.
#[test]
fn what_is_cut_is_told() {
    let bytes = bytes_of(&mut odd());
    for end in 0..bytes.len() {
        let (mut found, mut wire) = (Odd::default(), Wire::receiving(&bytes[..end]));
        found.pass(&mut wire);
        assert_eq!(wire.end(), Err("too little"), "{end}");
    }
    let longer = [&bytes[..], &[0]].concat();
    let (mut found, mut wire) = (Odd::default(), Wire::receiving(&longer));
    found.pass(&mut wire);
    assert_eq!(wire.end(), Err("too much"));
    let (mut numbers, mut wire) = (Vec::<f64>::new(), Wire::receiving(&[255; 8]));
    numbers.pass(&mut wire);
    assert_eq!((wire.end(), numbers.len()), (Err("too little"), 0));
}

/// Ranks that say what was written down for them.
#[derive(Debug)]
struct Written(Vec<Vec<u8>>);

impl Ranks for Written {
    fn size(&self) -> usize {
        self.0.len()
    }

    fn rank(&self) -> usize {
        1
    }

    fn gather(&self, own: Vec<u8>) -> Result<Vec<Vec<u8>>, Lost> {
        let mut all = self.0.clone();
        all[1] = own;
        Ok(all)
    }
}

#[test]
fn tasks_go_around() {
    let square = |number: usize| Ok::<_, Lost>((number * number) as u64);
    assert_eq!(map(&Alone, 5, square).unwrap(), [0, 1, 4, 9, 16]);
    let others = |numbers: &[u64]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    let ranks = Written(vec![others(&[0, 9]), Vec::new(), others(&[4])]);
    let own = |number: usize| {
        assert!(is_own(&ranks, number), "{number} is another's");
        square(number)
    };
    assert_eq!(map(&ranks, 5, own).unwrap(), [0, 1, 4, 9, 16]);
    let why = |tasks: usize| map(&ranks, tasks, square).unwrap_err().0;
    assert_eq!(why(6), "rank 2 sent something else than was due: too little");
    assert_eq!(why(3), "rank 0 sent something else than was due: too much");
}
