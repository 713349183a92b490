//! What looks odd in a log: units, clocks and poses that jump.

use driftless_world::Trajectory;

/// A position that changes by more than this within a step, or so, is not in metres.
const LONG_STEP: f64 = 20.0;

/// Says what looks like other units than metres and radians, or like clocks and poses that jump.
pub(super) fn suspect(episodes: &[Trajectory], notes: &mut Vec<String>) {
    let mut turns = 0.0_f32;
    let mut steps: Vec<f32> = Vec::new();
    for episode in episodes.iter().filter(|episode| episode.actions.width() == 3) {
        for t in 1..episode.len() {
            let action = episode.actions.row(t);
            steps.extend(Some(action[0].hypot(action[1])).filter(|step| step.is_finite()));
            turns = turns.max(action[2].abs());
        }
        let headings = episode.states.iter().flatten().filter_map(|state| state.get(2));
        turns = headings.fold(turns, |most, heading| most.max(heading.abs()));
    }
    steps.sort_by(f32::total_cmp);
    if turns > 10.0 {
        notes.push(format!("warning: headings or turns go up to {turns:.0}: degrees? radians are expected"));
    }
    if let Some(&median) = steps.get(steps.len() / 2).filter(|&&median| f64::from(median) > LONG_STEP) {
        notes.push(format!(
            "warning: a step is {median:.0} long: millimetres or centimetres? Settings of robot.* and sensors are in \
             the log's unit, and made for metres"
        ));
    }
    let usual = steps.get(steps.len() / 2).copied().unwrap_or(0.0).max(1e-9);
    let jumps: usize = episodes.iter().map(|episode| jumps(episode, usual)).sum();
    if jumps > 0 {
        notes.push(format!(
            "warning: {jumps} steps jump far beyond what odometry says: poses that are wrong, odometry that was reset, or \
             several robots or drives in one episode? `lengths` tells them apart"
        ));
    }
}

/// Steps between two known poses that are more than twenty usual steps farther apart than odometry says.
fn jumps(episode: &Trajectory, usual: f32) -> usize {
    let apart = |t: usize| {
        let (a, b) = (episode.states.get(t - 1)?, episode.states.get(t)?);
        let driven = episode.actions.row(t)[0].hypot(episode.actions.row(t)[1]);
        Some((a[0] - b[0]).hypot(a[1] - b[1]) - driven)
    };
    if episode.actions.width() != 3 || episode.states.width() != 3 {
        return 0;
    }
    (1..episode.len()).filter_map(apart).filter(|&apart| apart > 20.0 * usual).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use driftless_world::trajectory::{Labels, Observations, Rows};

    fn episode(poses: &[[f32; 3]], actions: Vec<f32>) -> Trajectory {
        let seen = Observations::Vectors(Rows::new(1, vec![0.0; poses.len()]).unwrap());
        let states = Labels::all(Rows::new(3, poses.concat()).unwrap());
        Trajectory::new(seen, Rows::new(3, actions).unwrap(), states).unwrap()
    }

    #[test]
    fn what_looks_odd_is_said() {
        let told = |episode: Trajectory| {
            let mut notes = Vec::new();
            suspect(&[episode], &mut notes);
            notes.join("; ")
        };
        let straight = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [3.0, 0.0, 0.0]];
        let nan = f32::NAN;
        let actions = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, nan, nan, nan];
        assert_eq!(told(episode(&straight, actions.to_vec())), "");
        let mut reset = straight;
        reset[2][0] = 30.0;
        assert!(told(episode(&reset, actions.to_vec())).starts_with("warning: 1 steps jump"));
        let mut turned = straight;
        turned[2][2] = 90.0;
        assert!(told(episode(&turned, actions.to_vec())).contains("up to 90: degrees?"));
        let long =
            episode(&straight.map(|pose| pose.map(|x| 1000.0 * x)), actions.map(|x| 1000.0 * x).to_vec());
        assert!(told(long).contains("a step is 1000 long: millimetres"));
    }
}
