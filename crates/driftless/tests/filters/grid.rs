//! The particle filter against exact recursion over the cells of a small maze.

use crate::common::{f64s, filter, mean_and_error, numbers};
use burn::module::Module;
use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use driftless::resample::{Resampler, Scheme, Soft, WhenBelow};
use driftless::{DrawSizes, Draws, Filter, Measurement, Phase, Prior, Rollout, StateSpace, Transition};

const MAZE: [&[u8; 5]; 4] = [b"..#..", b"#...#", b"..#..", b"....."];
const RIGHT: f64 = 0.0;
const DOWN: f64 = 1.0;
/// A walk and what was sensed on it; the first action is unused.
const ACTIONS: [f64; 6] = [RIGHT, RIGHT, DOWN, RIGHT, DOWN, DOWN];
const SENSED: [usize; 6] = [2, 1, 0, 2, 3, 1];

/// Free cells, and for each action the matrix of moves between them.
struct Maze {
    cells: Vec<(usize, usize)>,
}

impl Maze {
    fn new() -> Self {
        let all = (0..4).flat_map(|row| (0..5).map(move |column| (row, column)));
        Self { cells: all.filter(|&(row, column)| MAZE[row][column] == b'.').collect() }
    }

    /// The cell one step from cell `from`, or itself before a wall.
    fn next(&self, from: usize, action: f64) -> usize {
        let (row, column) = self.cells[from];
        let target = if action == RIGHT { (row, column + 1) } else { (row + 1, column) };
        self.cells.iter().position(|&cell| cell == target).unwrap_or(from)
    }

    /// P(j | i, action): the move succeeds with 0.7, goes the other way with 0.2, or not at all.
    fn moves(&self, action: f64) -> Vec<Vec<f64>> {
        let row = |from: usize| {
            let mut row = vec![0.0; self.cells.len()];
            row[self.next(from, action)] += 0.7;
            row[self.next(from, 1.0 - action)] += 0.2;
            row[from] += 0.1;
            row
        };
        (0..self.cells.len()).map(row).collect()
    }

    /// P(k | i): the number of free neighbours to the right and below, and the row's parity,
    /// sensed rightly with 0.7 and otherwise as any of the four classes.
    fn senses(&self) -> Vec<Vec<f64>> {
        let class = |i: usize| {
            let free = usize::from(self.next(i, RIGHT) != i) + usize::from(self.next(i, DOWN) != i);
            (free + self.cells[i].0 % 2) % 4
        };
        let row = |i: usize| (0..4).map(|k| if k == class(i) { 0.775 } else { 0.075 }).collect();
        (0..self.cells.len()).map(row).collect()
    }

    /// Exact P(s_t | o_1..t) for all t, and log p(o).
    fn forward(&self) -> (Vec<Vec<f64>>, f64) {
        let (senses, cells) = (self.senses(), self.cells.len());
        let mut belief = vec![1.0 / cells as f64; cells];
        let (mut beliefs, mut log_evidence) = (Vec::new(), 0.0);
        for (t, (&action, &sensed)) in ACTIONS.iter().zip(&SENSED).enumerate() {
            if t > 0 {
                let moves = self.moves(action);
                belief = (0..cells).map(|j| (0..cells).map(|i| belief[i] * moves[i][j]).sum()).collect();
            }
            belief.iter_mut().zip(&senses).for_each(|(belief, senses)| *belief *= senses[sensed]);
            let evidence: f64 = belief.iter().sum();
            belief = belief.into_iter().map(|belief| belief / evidence).collect();
            log_evidence += evidence.ln();
            beliefs.push(belief.clone());
        }
        (beliefs, log_evidence)
    }
}

/// Moves drawn from the rows of a matrix, [A, cells, cells], given as cumulative sums.
#[derive(Module, Debug)]
struct Moves {
    cumulative: Tensor<3>,
}

impl Transition for Moves {
    fn sample(&self, parents: Tensor<3>, action: Tensor<2>, noise: Tensor<3>) -> Tensor<3> {
        let [batch, particles, _] = parents.dims();
        let cells = self.cumulative.dims()[2];
        // All sequences share the action. Normal noise becomes uniform by its own distribution function.
        let action = numbers(&action)[0] as usize;
        let matrix = self.cumulative.clone().slice_dim(0, action..action + 1);
        let from: Tensor<1, Int> = parents.reshape([batch * particles]).int();
        let rows = matrix.squeeze_dim::<2>(0).select(0, from).reshape([batch, particles, cells]);
        let uniform = ((noise / 2.0_f64.sqrt()).erf() + 1.0) * 0.5; // [B, N, 1]
        let passed = rows.lower_equal(uniform.expand([batch, particles, cells]));
        // The last sum is 1 up to rounding: nothing lies beyond the last cell.
        f64s::<3>([[[0.0]]])
            .expand([batch, particles, cells])
            .mask_fill(passed, 1.0)
            .sum_dim(2)
            .clamp_max(cells as f64 - 1.0)
    }

    fn log_density(&self, _: Tensor<3>, _: Tensor<3>, _: Tensor<2>) -> Tensor<2> {
        unreachable!("filtering needs no density")
    }
}

/// Likelihoods looked up in a table [4, cells].
#[derive(Module, Debug)]
struct Senses {
    table: Tensor<2>,
}

impl Measurement for Senses {
    type Observations = Vec<usize>;
    type Cues = Vec<usize>;

    fn encode(&self, observations: &Vec<usize>, _: Phase) -> Vec<usize> {
        observations.clone()
    }

    fn log_likelihood(&self, cues: &Vec<usize>, t: usize, states: Tensor<3>) -> Tensor<2> {
        let [batch, particles, _] = states.dims();
        let likelihood = self.table.clone().slice_dim(0, cues[t]..cues[t] + 1).squeeze_dim::<1>(0); // [cells]
        likelihood.select(0, states.reshape([batch * particles]).int()).log().reshape([batch, particles])
    }
}

fn model(maze: &Maze) -> StateSpace<Moves, Senses> {
    let cells = maze.cells.len();
    let cumulative = |row: Vec<f64>| {
        row.into_iter().scan(0.0, |sum, p| {
            *sum += p;
            Some(*sum)
        })
    };
    let sums: Vec<f64> = [RIGHT, DOWN].iter().flat_map(|&a| maze.moves(a)).flat_map(cumulative).collect();
    let senses = maze.senses();
    let table: Vec<f64> = (0..4).flat_map(|k| senses.iter().map(move |row| row[k])).collect();
    StateSpace {
        transition: Moves { cumulative: f64s(TensorData::new(sums, [2, cells, cells])) },
        measurement: Senses { table: f64s(TensorData::new(table, [4, cells])) },
    }
}

fn run(maze: &Maze, filter: &Filter, runs: usize, particles: usize) -> Rollout<StateSpace<Moves, Senses>> {
    let uniforms = filter.resampler.uniforms(particles, 1);
    let sizes = DrawSizes { batch: runs, steps: 6, particles, state: 1, noise: 1, uniforms };
    let draws = Draws::new(sizes, 8, &Device::flex().autodiff(), DType::F64);
    let model = model(maze);
    let mut prior = Prior::Uniform { low: vec![0.0], high: vec![maze.cells.len() as f64] }.sample(&draws);
    prior.states = prior.states.floor();
    let actions = f64s::<3>([ACTIONS.map(|action| [action])]).expand([runs, 6, 1]);
    filter.rollout(&model, prior, SENSED.to_vec(), &actions, &draws)
}

/// The weight on cell `cell`, for each run.
fn weight_on(belief: &driftless::Belief, cell: usize) -> Vec<f64> {
    let here = belief.states.clone().equal_elem(cell as f64).squeeze_dim::<2>(2);
    let weights = belief.weights.exp();
    numbers(&weights.zeros_like().mask_where(here, weights).sum_dim(1))
}

/// All cells at all steps, for each kind of resampling: 5 standard errors, as there are many.
#[test]
fn cells_have_their_exact_probabilities() {
    let maze = Maze::new();
    let (exact, log_evidence) = maze.forward();
    let resamplers: [Box<dyn Resampler>; 4] = [
        Box::new(Scheme::Systematic),
        Box::new(Scheme::Residual),
        Box::new(WhenBelow { fraction: 0.6, inner: Box::new(Scheme::Multinomial) }),
        Box::new(Soft::new(0.5, Scheme::Stratified)),
    ];
    for resampler in resamplers {
        let name = format!("{resampler:?}");
        let rollout = run(&maze, &Filter { resampler, ..filter(Scheme::Systematic) }, 30, 5000);
        for (t, (belief, exact)) in rollout.beliefs.iter().zip(&exact).enumerate() {
            for (cell, exact) in exact.iter().enumerate() {
                let (mean, error) = mean_and_error(&weight_on(belief, cell));
                // A cell without any particle has no spread; its probability must be as small.
                let allowed = 5.0 * error + 1e-4;
                assert!(
                    (mean - exact).abs() < allowed,
                    "{name} step {t} cell {cell}: {mean}±{error} {exact}"
                );
                assert!(error < 0.005, "{name}: {error} is no test");
            }
        }
        let ratios: Vec<f64> =
            numbers(&rollout.log_evidence()).iter().map(|log| (log - log_evidence).exp()).collect();
        let (mean, error) = mean_and_error(&ratios);
        assert!((mean - 1.0).abs() < 4.0 * error && error < 0.01, "{name}: {mean} ± {error}");
    }
}

/// The oracle: brute force over all paths of three steps.
#[test]
fn forward_recursion_sums_over_all_paths() {
    let maze = Maze::new();
    let (senses, moves) = (maze.senses(), [maze.moves(ACTIONS[1]), maze.moves(ACTIONS[2])]);
    let cells = maze.cells.len();
    let mut last = vec![0.0; cells];
    for path in 0..cells.pow(3) {
        let [i, j, k] = [path % cells, path / cells % cells, path / cells / cells];
        let seen = senses[i][SENSED[0]] * senses[j][SENSED[1]] * senses[k][SENSED[2]];
        last[k] += moves[0][i][j] * moves[1][j][k] * seen / cells as f64;
    }
    let total: f64 = last.iter().sum();
    for (exact, last) in maze.forward().0[2].iter().zip(last) {
        assert!((exact - last / total).abs() < 1e-12);
    }
}
