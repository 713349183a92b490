// Shows robots as they drive: a map of all of them, the particles and the camera of one, and how the server is.
// `window.driftless` says what it is doing, for tests and for the curious.
(() => {
  'use strict';
  const status = { ready: false, updates: 0, robots: 0, chosen: null, particles: 0, isLive: false, errors: [] };
  window.driftless = status;
  window.addEventListener('error', event => status.errors.push(String(event.message)));
  window.addEventListener('unhandledrejection', event => status.errors.push(String(event.reason)));

  const PAUSE = 500, TRAIL = 40;
  const find = id => document.getElementById(id);
  const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const words = (value, digits) => value === null || value === undefined ? '–' : value.toFixed(digits).replace(/^-(0\.?0*)$/, '$1');
  const call = robot => robot.name === null ? '(no name)' : robot.name === '' ? '(empty name)' : robot.name;
  const map = find('map'), trails = new Map();
  let plan = null, ground = null, robots = [], cloud = [];

  async function ask(path) {
    const answer = await fetch(path, { cache: 'no-store' });
    return answer.ok ? answer.json() : null;
  }

  // An element with a text, which is never anything but a text.
  function element(kind, text) {
    const made = document.createElement(kind);
    made.textContent = text;
    return made;
  }

  function list(id, pairs) {
    find(id).replaceChildren(...pairs.map(([name, value]) => {
      const row = document.createElement('div');
      row.append(element('dt', name), element('dd', value));
      return row;
    }));
  }

  // The map of cells in the colours of the page, as in reports.
  function loadGround() {
    ground = null;
    if (!plan.ground) return;
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
      ground = canvas;
      draw();
    };
    image.src = 'data:image/png;base64,' + plan.ground.png;
  }

  // Six bytes a particle, as in reports.
  function unpacked(text) {
    const bytes = atob(text), byte = i => bytes.charCodeAt(i), found = [];
    for (let i = 0; i + 5 < bytes.length; i += 6) {
      found.push({
        x: plan.low[0] + (byte(i) + 256 * byte(i + 1)) / 65535 * (plan.high[0] - plan.low[0]),
        y: plan.low[1] + (byte(i + 2) + 256 * byte(i + 3)) / 65535 * (plan.high[1] - plan.low[1]),
        weight: byte(i + 5) / 255,
      });
    }
    return found.sort((a, b) => a.weight - b.weight);
  }

  function draw() {
    if (!plan) return;
    const { low, high } = plan, room = 12, width = map.clientWidth || 600, ratio = window.devicePixelRatio || 1;
    const scale = Math.min((width - 2 * room) / (high[0] - low[0]), 560 / (high[1] - low[1]));
    const height = Math.round(scale * (high[1] - low[1]) + 2 * room);
    map.style.height = height + 'px';
    map.width = Math.round(width * ratio);
    map.height = Math.round(height * ratio);
    const pen = map.getContext('2d');
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    const left = (width - scale * (high[0] - low[0])) / 2;
    const place = (x, y) => [left + scale * (x - low[0]), room + scale * (high[1] - y)];
    if (ground) {
      const { low: corner, high: other } = plan.ground, [x, y] = place(corner[0], other[1]);
      pen.drawImage(ground, x, y, scale * (other[0] - corner[0]), scale * (other[1] - corner[1]));
    }
    drawWorld(pen, place);
    drawParticles(pen, place);
    for (const robot of robots) if (robot.pose && robot.number !== status.chosen) drawRobot(pen, place, robot.pose, '--truth', 6);
    const chosen = robots.find(robot => robot.number === status.chosen);
    if (chosen && chosen.pose) {
      drawTrail(pen, place, trails.get(chosen.number) || []);
      drawRobot(pen, place, chosen.pose, '--estimate', 11);
    }
  }

  function drawWorld(pen, place) {
    pen.strokeStyle = colour('--quiet');
    pen.lineWidth = 1.8;
    for (const [x, y] of plan.marks) {
      pen.beginPath();
      pen.arc(...place(x, y), 6, 0, 2 * Math.PI);
      pen.stroke();
    }
    pen.strokeStyle = colour('--wall');
    pen.lineWidth = 3;
    pen.lineCap = 'round';
    pen.beginPath();
    for (const [x0, y0, x1, y1] of plan.walls) {
      pen.moveTo(...place(x0, y0));
      pen.lineTo(...place(x1, y1));
    }
    pen.stroke();
  }

  function drawParticles(pen, place) {
    const ramp = [colour('--light'), colour('--heavy')].map(hex => [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16)));
    pen.globalAlpha = 0.85;
    for (const { x, y, weight } of cloud) {
      pen.fillStyle = `rgb(${ramp[0].map((light, c) => Math.round(light + weight * (ramp[1][c] - light)))})`;
      pen.beginPath();
      pen.arc(...place(x, y), 1.8 + 2.4 * weight, 0, 2 * Math.PI);
      pen.fill();
    }
    pen.globalAlpha = 1;
  }

  function drawTrail(pen, place, trail) {
    pen.strokeStyle = colour('--estimate');
    pen.lineWidth = 2.5;
    pen.globalAlpha = 0.5;
    pen.beginPath();
    trail.forEach(([x, y], i) => pen[i ? 'lineTo' : 'moveTo'](...place(x, y)));
    pen.stroke();
    pen.globalAlpha = 1;
  }

  function drawRobot(pen, place, pose, ink, reach) {
    const [x, y] = place(pose[0], pose[1]);
    const corner = (turn, share) => [x + share * reach * Math.cos(pose[2] + turn), y - share * reach * Math.sin(pose[2] + turn)];
    pen.fillStyle = colour(ink);
    pen.strokeStyle = colour('--paper');
    pen.lineWidth = 2;
    pen.beginPath();
    pen.moveTo(...corner(0, 1.2));
    for (const [turn, share] of [[2.4, 1], [Math.PI, 0.35], [-2.4, 1]]) pen.lineTo(...corner(turn, share));
    pen.closePath();
    pen.stroke();
    pen.fill();
  }

  function follow() {
    const alive = new Set(robots.map(robot => robot.number));
    for (const number of trails.keys()) if (!alive.has(number)) trails.delete(number);
    for (const { number, pose } of robots) {
      if (!pose) continue;
      const trail = trails.get(number) || [];
      trail.push(pose);
      trails.set(number, trail.slice(-TRAIL));
    }
    if (!alive.has(status.chosen)) choose(robots.length ? robots[0].number : null);
  }

  function choose(number) {
    if (status.chosen === number) return;
    status.chosen = number;
    cloud = [];
  }

  function row(robot) {
    const { pose } = robot, made = document.createElement('tr'), head = element('th', call(robot));
    head.scope = 'row';
    const turn = pose ? words(pose[2] * 180 / Math.PI, 0) + '°' : '–';
    made.append(head, ...[words(pose && pose[0], 2), words(pose && pose[1], 2), turn, words(robot.deviation, 2),
      words(robot.effective, 0), words(robot.kidnapped, 4), words(robot.steps, 0), words(robot.waiting, 0),
      words(robot.silent, 0)].map(text => element('td', text)));
    made.setAttribute('aria-selected', robot.number === status.chosen);
    made.addEventListener('click', () => { choose(robot.number); tell(); look(); });
    return made;
  }

  function tell() {
    find('robots').replaceChildren(...robots.map(row));
    const chosen = robots.find(robot => robot.number === status.chosen);
    list('readout', !chosen ? [] : [['robot', call(chosen)], [`± position (${plan.unit})`, words(chosen.deviation, 2)],
      ['effective particles', `${words(chosen.effective, 0)} of ${words(chosen.particles, 0)}`],
      ['kidnapped', words(chosen.kidnapped, 4)], ['saw something', chosen.saw ? 'yes' : 'no']]);
    draw();
  }

  function tellHealth(health, queued) {
    const ms = value => value === null ? '–' : words(value, 1) + ' ms';
    list('health', [['robots', String(robots.length)], ['steps a second', words(health.steps_a_second, 1)],
      ['p50', ms(health.p50_ms)], ['p99', ms(health.p99_ms)], ['longest', ms(health.max_ms)], ['waiting', String(queued)],
      ['merged', String(health.merged)], ['without readings', String(health.stripped)], ['late', String(health.late)],
      ['broken', String(health.broken)], ['forgotten', String(health.forgotten)], ['hung up on', String(health.hung_up)]]);
  }

  // The particles and the camera of the chosen robot.
  async function look() {
    const number = status.chosen, found = number === null ? null : await ask(`robot/${number}.json`);
    if (number !== status.chosen) return;
    cloud = found ? unpacked(found.particles) : [];
    status.particles = cloud.length;
    const camera = find('camera'), image = found && found.camera;
    camera.closest('figure').hidden = !image;
    if (image) camera.src = 'data:image/png;base64,' + image;
    draw();
  }

  async function update() {
    let found = null;
    try {
      plan = plan || await begin();
      found = await ask('live.json');
    } catch { /* The server is gone; it may come again. */ }
    status.isLive = found !== null;
    find('lead').textContent = found ? `${plan.method}, ${plan.world}` : 'The server does not answer.';
    if (found) {
      robots = found.robots;
      status.robots = robots.length;
      follow();
      tellHealth(found.health, found.queued);
      await look().catch(() => {});
      tell();
      status.updates += 1;
    }
    status.ready = true;
    setTimeout(update, PAUSE);
  }

  async function begin() {
    plan = await ask('plan.json');
    if (plan) loadGround();
    return plan;
  }

  let drawnFor = 0;
  const fit = () => { if (map.clientWidth !== drawnFor) { drawnFor = map.clientWidth; draw(); } };
  new ResizeObserver(() => requestAnimationFrame(fit)).observe(map);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { if (plan) loadGround(); draw(); });
  update();
})();
