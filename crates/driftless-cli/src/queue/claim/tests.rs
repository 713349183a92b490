use super::*;
use crate::queue::testing::Folder;
use std::time::Duration;

const FAST: Pace = Pace {
    beat: Duration::from_millis(20),
    patience: Duration::from_millis(400),
    look: Duration::from_millis(10),
};

fn host(name: &str) -> Host {
    Host { name: name.to_owned(), boot: name.to_owned() }
}

#[track_caller]
fn ours(asked: Asked) -> Claim {
    match asked {
        Asked::Ours(claim) => claim,
        Asked::Theirs(who) => panic!("it is {who}'s"),
    }
}

/// What is left by a machine that lost its power: a file whose lock is gone, and whose heart stands still.
fn dead(folder: &Folder, name: &str, epochs: u64) {
    let claim = ours(Claim::ask(&folder.0, "run", &host(name), epochs, FAST).unwrap());
    drop(claim);
}

#[test]
fn a_run_is_one_processes_alone_and_the_next_ones_after_it() {
    let folder = Folder::new();
    let ask = |name: &str| Claim::ask(&folder.0, "run", &host(name), 0, FAST).unwrap();
    let first = ours(ask("a"));
    for other in ["a", "b"] {
        let Asked::Theirs(who) = ask(other) else { panic!("two of them") };
        assert_eq!(who, format!("process {} on a", std::process::id()));
    }
    first.release();
    // Released, nobody waits for a heart.
    let started = Instant::now();
    let second = ours(ask("b"));
    assert!(started.elapsed() < FAST.patience && second.holds());
    assert_eq!(second.in_vain, 0, "the first has left by itself");
}

#[test]
fn the_dead_of_this_machine_are_followed_at_once_and_of_others_after_a_while() {
    let folder = Folder::new();
    dead(&folder, "a", 0);
    let started = Instant::now();
    let second = ours(Claim::ask(&folder.0, "run", &host("a"), 0, FAST).unwrap());
    assert!(started.elapsed() < FAST.patience);
    assert_eq!(second.in_vain, 1);
    drop(second);
    let started = Instant::now();
    let third = ours(Claim::ask(&folder.0, "run", &host("b"), 0, FAST).unwrap());
    assert!(started.elapsed() >= FAST.patience);
    assert_eq!(third.in_vain, 2);
    third.release();
    dead(&folder, "a", 3);
    let fourth = ours(Claim::ask(&folder.0, "run", &host("a"), 4, FAST).unwrap());
    assert_eq!(fourth.in_vain, 0, "an epoch was done");
}

/// A lock that does not reach is played by a file that is written on without one.
#[test]
fn where_locks_do_not_reach_hearts_keep_runs_apart() {
    let folder = Folder::new();
    let owner = Owner { host: host("far"), process: 7, nonce: "n".to_owned(), epochs: 0 };
    let path = path_of(&folder.0, "run", 1);
    fs::write(&path, crate::queue::beat::text_of(0, &owner.text().unwrap())).unwrap();
    let unlocked = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let far = Claim {
        heart: Heart::start(unlocked, &path, owner.text().unwrap(), FAST),
        path,
        in_vain: 0,
        warnings: Vec::new(),
    };
    let Asked::Theirs(who) = Claim::ask(&folder.0, "run", &host("near"), 0, FAST).unwrap() else {
        panic!("its heart beats")
    };
    assert!(who.contains("process 7 on far; locks in") && who.contains("do not reach"), "{who}");
    // It falls asleep, is taken for dead, and wakes up: it must not write any more.
    let heart = std::mem::ManuallyDrop::new(far);
    assert!(heart.holds());
    let asleep = crate::queue::beat::text_of(5, &owner.text().unwrap());
    drop(std::mem::ManuallyDrop::into_inner(heart));
    fs::write(path_of(&folder.0, "run", 1), asleep).unwrap();
    let file = OpenOptions::new().read(true).write(true).open(path_of(&folder.0, "run", 1)).unwrap();
    let slow = Pace { beat: Duration::from_mins(1), ..FAST };
    let sleeper = Heart::start(file, &path_of(&folder.0, "run", 1), owner.text().unwrap(), slow);
    assert!(sleeper.holds());
    let near = ours(Claim::ask(&folder.0, "run", &host("near"), 0, FAST).unwrap());
    assert!(!sleeper.holds() && near.holds());
}

/// All at once, again and again: one of them each time.
#[test]
fn of_many_that_ask_one_gets_it() {
    let folder = Folder::new();
    for round in 0..20 {
        let path = &folder.0;
        let asked = std::thread::scope(|scope| {
            let ask = |_| scope.spawn(|| Claim::ask(path, "run", &host("a"), round, FAST).unwrap());
            let threads: Vec<_> = (0..8).map(ask).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        let got: Vec<Claim> = asked
            .into_iter()
            .filter_map(|asked| match asked {
                Asked::Ours(claim) => Some(claim),
                Asked::Theirs(_) => None,
            })
            .collect();
        assert_eq!(got.len(), 1, "round {round}");
        // Half of them are killed.
        for claim in got {
            if round % 2 == 0 { claim.release() } else { drop(claim) }
        }
    }
    let left: Vec<_> = fs::read_dir(&folder.0).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("partial")), "{left:?}");
}
