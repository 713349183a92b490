// A predicted range scan: rays on the map, and a band over the image, near below and far above.
const scanDepth = (scan, ray, distance) => distance * Math.cos(scan.bearings[ray]);

// The nearest and the farthest depth of an episode: all its images have one scale.
function depthsOf(episode) {
  if (episode.depths) return episode.depths;
  let near = Infinity, far = 0;
  for (const { scan } of episode.steps.filter(step => step.scan)) {
    scan.predicted.forEach((quantiles, ray) => {
      for (const distance of [...quantiles, scan.from_estimate[ray]]) {
        const depth = scanDepth(scan, ray, distance);
        if (depth > 0) { near = Math.min(near, depth); far = Math.max(far, depth); }
      }
    });
  }
  episode.depths = { near, far };
  return episode.depths;
}

function drawScanOnMap(pen, place, { scan, estimate, truth }, colour) {
  if (!scan || !estimate) return;
  const end = ([x, y, heading], ray, distance) => {
    const angle = heading + scan.bearings[ray];
    return place(x + distance * Math.cos(angle), y + distance * Math.sin(angle));
  };
  for (const [pose, distances, ink] of [[truth, scan.from_truth, '--truth'], [estimate, scan.from_estimate, '--estimate']]) {
    if (!pose) continue;
    pen.strokeStyle = colour(ink);
    pen.globalAlpha = 0.25;
    pen.lineWidth = 1;
    pen.beginPath();
    distances.forEach((distance, ray) => {
      pen.moveTo(...place(pose[0], pose[1]));
      pen.lineTo(...end(pose, ray, distance));
    });
    pen.stroke();
  }
  const edge = k => scan.predicted.map((quantiles, ray) => end(estimate, ray, quantiles[k]));
  pen.fillStyle = pen.strokeStyle = colour('--scan');
  pen.globalAlpha = 0.3;
  pen.beginPath();
  [...edge(0), ...edge(2).reverse()].forEach(at => pen.lineTo(...at));
  pen.fill();
  pen.globalAlpha = 1;
  pen.lineWidth = 2;
  pen.beginPath();
  edge(1).forEach(at => pen.lineTo(...at));
  pen.stroke();
}

function drawScanOverImage(canvas, scan, { near, far }, colour) {
  const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth || 200, height = canvas.clientHeight || 200;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const pen = canvas.getContext('2d');
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  const column = width / scan.bearings.length, whole = Math.log(far / near) || 1;
  const y = (ray, distance) => height * (1 - Math.min(1, Math.log(Math.max(near, scanDepth(scan, ray, distance)) / near) / whole));
  pen.fillStyle = colour('--scan');
  pen.globalAlpha = 0.35;
  scan.predicted.forEach(([low, , high], ray) => {
    pen.fillRect(ray * column, y(ray, high), column, y(ray, low) - y(ray, high));
  });
  const medians = scan.predicted.map(quantiles => quantiles[1]);
  for (const [distances, ink] of [[scan.from_truth, '--truth'], [scan.from_estimate, '--estimate'], [medians, '--scan']]) {
    for (const [stroke, size, alpha] of [[colour('--paper'), 4, 0.6], [colour(ink), 2, 1]]) {
      pen.strokeStyle = stroke;
      pen.lineWidth = size;
      pen.globalAlpha = alpha;
      pen.beginPath();
      distances.forEach((distance, ray) => pen.lineTo((ray + 0.5) * column, y(ray, distance)));
      pen.stroke();
    }
  }
  pen.globalAlpha = 1;
}
