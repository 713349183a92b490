// Plays episodes: a map with the belief, the camera, and a strip of evidence and error over time.
// `window.driftless` says what it is doing, for tests and for the curious.
(() => {
  'use strict';
  const status = { ready: false, episodes: 0, episode: 0, steps: 0, step: 0, playing: false, drawn: 0, errors: [] };
  window.driftless = status;
  window.addEventListener('error', event => status.errors.push(String(event.message)));
  window.addEventListener('unhandledrejection', event => status.errors.push(String(event.reason)));

  const root = document.getElementById('player');
  if (!root) {
    status.ready = true;
    return;
  }
  const find = id => document.getElementById(id);
  const episodes = JSON.parse(find('episodes').textContent);
  const map = find('map'), strip = find('strip'), seek = find('seek');
  const TRAIL = 20;
  // One decimal, and no minus before a zero.
  const words = (value, digits = 1) => value.toFixed(digits).replace(/^-(0\.0+)$/, '$1');
  // Metres are told to the millimetre.
  const digits = key => key === 'error' && episode().unit === 'm' ? 3 : 1;
  let clouds = [];
  let timer = 0;

  const episode = () => episodes[status.episode];
  const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // Six bytes a particle: x and y in 65535ths of the plan, heading in 256ths of a turn, weight in 255ths.
  function cloud(step) {
    if (clouds[step]) return clouds[step];
    const { low, high, steps } = episode();
    const text = atob(steps[step].particles);
    const byte = i => text.charCodeAt(i);
    const particles = [];
    for (let i = 0; i + 5 < text.length; i += 6) {
      particles.push({
        x: low[0] + (byte(i) + 256 * byte(i + 1)) / 65535 * (high[0] - low[0]),
        y: low[1] + (byte(i + 2) + 256 * byte(i + 3)) / 65535 * (high[1] - low[1]),
        heading: byte(i + 4) / 256 * 2 * Math.PI - Math.PI,
        weight: byte(i + 5) / 255,
      });
    }
    particles.sort((a, b) => a.weight - b.weight);
    clouds[step] = particles;
    return particles;
  }

  // The map of cells in the colours of the page: walls grey, what nobody has seen a little darker than the floor.
  const grounds = new Map();
  function ground() {
    const index = status.episode, { ground } = episodes[index];
    if (!ground || grounds.has(index)) return ground && grounds.get(index);
    grounds.set(index, null);
    const image = new Image();
    image.onload = () => {
      const canvas = document.createElement('canvas');
      Object.assign(canvas, { width: image.width, height: image.height });
      const pen = canvas.getContext('2d');
      pen.drawImage(image, 0, 0);
      const cells = pen.getImageData(0, 0, image.width, image.height), bytes = cells.data;
      const [wall, unseen] = ['--wall', '--line'].map(name => [1, 3, 5].map(i => parseInt(colour(name).slice(i, i + 2), 16)));
      for (let i = 0; i < bytes.length; i += 4) {
        const [ink, alpha] = bytes[i] === 0 ? [wall, 150] : [unseen, bytes[i] === 255 ? 0 : 110];
        bytes.set([...ink, alpha], i);
      }
      pen.putImageData(cells, 0, 0);
      grounds.set(index, canvas);
      if (index === status.episode) show();
    };
    image.src = 'data:image/png;base64,' + ground.png;
    return null;
  }

  // A canvas as sharp as the screen, in units of CSS pixels.
  function sheet(canvas, height) {
    const width = canvas.clientWidth || 600, ratio = window.devicePixelRatio || 1;
    canvas.style.height = height + 'px';
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const pen = canvas.getContext('2d');
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    return { pen, width, height };
  }

  function drawMap() {
    const { low, high, walls, marks, steps } = episode();
    const room = 12, available = (map.clientWidth || 600) - 2 * room;
    const scale = Math.min(available / (high[0] - low[0]), 560 / (high[1] - low[1]));
    const { pen, width } = sheet(map, Math.round(scale * (high[1] - low[1]) + 2 * room));
    const left = (width - scale * (high[0] - low[0])) / 2;
    const place = (x, y) => [left + scale * (x - low[0]), room + scale * (high[1] - y)];
    const cells = ground();
    if (cells) {
      const { low: corner, high: other } = episode().ground, [x, y] = place(corner[0], other[1]);
      pen.drawImage(cells, x, y, scale * (other[0] - corner[0]), scale * (other[1] - corner[1]));
    }
    drawMarks(pen, place, marks);
    drawParticles(pen, place);
    pen.strokeStyle = colour('--wall');
    pen.lineWidth = 3;
    pen.lineCap = 'round';
    pen.beginPath();
    for (const [x0, y0, x1, y1] of walls) {
      pen.moveTo(...place(x0, y0));
      pen.lineTo(...place(x1, y1));
    }
    pen.stroke();
    drawScanOnMap(pen, place, steps[status.step], colour);
    drawTrail(pen, place, steps, 'truth', colour('--truth'));
    drawTrail(pen, place, steps, 'estimate', colour('--estimate'));
  }

  // Beacons and landmarks: a ring around a dot.
  function drawMarks(pen, place, marks) {
    pen.strokeStyle = pen.fillStyle = colour('--quiet');
    pen.lineWidth = 1.8;
    for (const [x, y] of marks) {
      for (const [radius, draw] of [[6, 'stroke'], [2, 'fill']]) {
        pen.beginPath();
        pen.arc(...place(x, y), radius, 0, 2 * Math.PI);
        pen[draw]();
      }
    }
  }

  function drawParticles(pen, place) {
    const ramp = [colour('--light'), colour('--heavy')].map(hex => [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16)));
    for (const { x, y, heading, weight } of cloud(status.step)) {
      const [px, py] = place(x, y);
      const mix = ramp[0].map((light, c) => Math.round(light + weight * (ramp[1][c] - light)));
      const radius = 1.8 + 2.4 * weight;
      pen.fillStyle = pen.strokeStyle = `rgb(${mix})`;
      pen.globalAlpha = 0.85;
      pen.beginPath();
      pen.arc(px, py, radius, 0, 2 * Math.PI);
      pen.fill();
      pen.lineWidth = 1.2;
      pen.beginPath();
      pen.moveTo(px, py);
      pen.lineTo(px + 3 * radius * Math.cos(heading), py - 3 * radius * Math.sin(heading));
      pen.stroke();
    }
    pen.globalAlpha = 1;
  }

  function drawTrail(pen, place, steps, which, ink) {
    pen.strokeStyle = pen.fillStyle = ink;
    pen.lineWidth = 2.5;
    for (let t = Math.max(1, status.step - TRAIL); t <= status.step; t++) {
      const [from, to] = [steps[t - 1][which], steps[t][which]];
      if (!from || !to) continue;
      pen.globalAlpha = 0.15 + 0.6 * (1 - (status.step - t) / TRAIL);
      pen.beginPath();
      pen.moveTo(...place(from[0], from[1]));
      pen.lineTo(...place(to[0], to[1]));
      pen.stroke();
    }
    pen.globalAlpha = 1;
    const pose = steps[status.step][which];
    if (!pose) return;
    const [x, y] = place(pose[0], pose[1]), reach = 11;
    const corner = (turn, share) => [x + share * reach * Math.cos(pose[2] + turn), y - share * reach * Math.sin(pose[2] + turn)];
    pen.beginPath();
    pen.moveTo(...corner(0, 1.2));
    pen.lineTo(...corner(2.4, 1));
    pen.lineTo(...corner(Math.PI, 0.35));
    pen.lineTo(...corner(-2.4, 1));
    pen.closePath();
    pen.lineWidth = 3;
    pen.strokeStyle = colour('--paper');
    pen.stroke();
    pen.fill();
  }

  function drawStrip() {
    const { steps, unit } = episode();
    const rows = [['log evidence', 'evidence', '--heavy'], [`position error (${unit})`, 'error', '--estimate']]
      .filter(([, key]) => steps.some(step => step[key] !== null));
    const height = 74, { pen, width } = sheet(strip, Math.max(1, rows.length) * height + 4);
    const last = Math.max(1, steps.length - 1), x = t => 8 + t / last * (width - 16);
    pen.font = '12px system-ui, sans-serif';
    rows.forEach(([name, key, ink], row) => {
      const values = steps.map(step => step[key]), known = values.filter(value => value !== null);
      const low = key === 'error' ? 0 : Math.min(...known), high = Math.max(...known);
      const top = row * height + 22, y = value => top + (height - 32) * (1 - (value - low) / (high - low || 1));
      pen.fillStyle = colour('--quiet');
      pen.fillText(`${name}, ${words(low, digits(key))} to ${words(high, digits(key))}`, 8, top - 8);
      pen.strokeStyle = colour(ink);
      pen.lineWidth = 1.8;
      pen.beginPath();
      let open = false;
      values.forEach((value, t) => {
        if (value === null) { open = false; return; }
        if (open) pen.lineTo(x(t), y(value)); else pen.moveTo(x(t), y(value));
        open = true;
      });
      pen.stroke();
      const here = values[status.step];
      if (here !== null) {
        pen.fillStyle = colour(ink);
        pen.beginPath();
        pen.arc(x(status.step), y(here), 3.5, 0, 2 * Math.PI);
        pen.fill();
      }
    });
    pen.strokeStyle = colour('--truth');
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(x(status.step), 2);
    pen.lineTo(x(status.step), Math.max(1, rows.length) * height);
    pen.stroke();
  }

  function tell() {
    const { steps, unit } = episode(), step = steps[status.step];
    const write = (id, value, after) => {
      find(id).textContent = value === null ? '–' : words(value, digits(id)) + after;
    };
    write('error', step.error, ' ' + unit);
    write('turn', step.turn, '°');
    write('evidence', step.evidence, '');
    const weights = cloud(status.step).map(particle => particle.weight);
    const sum = weights.reduce((a, b) => a + b, 0), squares = weights.reduce((a, b) => a + b * b, 0);
    find('effective').textContent = squares > 0 ? `${(sum * sum / squares).toFixed(0)} of ${weights.length}` : '–';
    const camera = find('camera');
    camera.closest('figure').hidden = !step.camera;
    for (const id of ['scan', 'scan-words', 'scan-key']) find(id).hidden = !step.scan;
    if (step.camera) {
      camera.src = 'data:image/png;base64,' + step.camera;
      camera.alt = `What the robot's camera sees at step ${status.step}`;
      if (step.scan) drawScanOverImage(find('scan'), step.scan, depthsOf(episode()), colour);
    }
    find('clock').textContent = `step ${status.step} of ${steps.length - 1}`;
    seek.value = status.step;
    root.dataset.step = status.step;
    root.dataset.playing = status.playing;
    root.dataset.errors = status.errors.length;
  }

  function show() {
    drawMap();
    drawStrip();
    tell();
    status.drawn += 1;
  }

  function go(step) {
    status.step = Math.min(Math.max(0, step), status.steps - 1);
    show();
  }

  function pause() {
    clearTimeout(timer);
    status.playing = false;
    find('play').textContent = '▶ play';
    find('play').setAttribute('aria-label', 'Play');
    root.dataset.playing = false;
  }

  function tick() {
    if (status.step + 1 >= status.steps) { pause(); return; }
    go(status.step + 1);
    timer = setTimeout(tick, 1000 / Number(find('speed').value));
  }

  function play() {
    if (status.step + 1 >= status.steps) status.step = 0;
    status.playing = true;
    find('play').textContent = '❚❚ pause';
    find('play').setAttribute('aria-label', 'Pause');
    tick();
  }

  const toggle = () => (status.playing ? pause() : play());
  const stepBy = by => { pause(); go(status.step + by); };

  function choose(index) {
    pause();
    clouds = [];
    Object.assign(status, { episode: index, steps: episodes[index].steps.length, step: 0 });
    seek.max = status.steps - 1;
    show();
  }

  find('chooser').addEventListener('change', event => choose(Number(event.target.value)));
  find('first').addEventListener('click', () => { pause(); go(0); });
  find('back').addEventListener('click', () => stepBy(-1));
  find('next').addEventListener('click', () => stepBy(1));
  find('play').addEventListener('click', toggle);
  seek.addEventListener('input', () => { pause(); go(Number(seek.value)); });
  strip.addEventListener('pointerdown', event => {
    const box = strip.getBoundingClientRect(), share = (event.clientX - box.left - 8) / (box.width - 16);
    pause();
    go(Math.round(share * (status.steps - 1)));
  });
  document.addEventListener('keydown', event => {
    const inside = root.contains(event.target);
    if (!inside && event.target !== document.body || event.altKey || event.ctrlKey || event.metaKey) return;
    // Choosers, the slider and buttons know these keys themselves.
    if (['SELECT', 'INPUT'].includes(event.target.tagName)) return;
    if (event.key === ' ' && (!inside || event.target.tagName === 'BUTTON')) return;
    const actions = { ArrowLeft: () => stepBy(-1), ArrowRight: () => stepBy(1), ' ': toggle };
    if (inside) Object.assign(actions, { Home: () => stepBy(-status.steps), End: () => stepBy(status.steps) });
    if (actions[event.key]) {
      event.preventDefault();
      actions[event.key]();
    }
  });
  // Drawing changes the map's height; done at once, the observer would call itself.
  let drawnFor = 0;
  const fit = () => { if (map.clientWidth !== drawnFor) { drawnFor = map.clientWidth; show(); } };
  new ResizeObserver(() => requestAnimationFrame(fit)).observe(map);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { grounds.clear(); show(); });

  status.episodes = episodes.length;
  choose(0);
  status.ready = true;
})();
