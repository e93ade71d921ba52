// python/ebb/viz/page/layout.js -- from the fold state to a Scene with every box in its place.
//
// What is on the picture is found here; where it is, by kernel.js. Start at layoutScene().

/** Yields now and then, so that the caller may pause or drop the work; returns the Scene. */
function* layoutScene(model, groups, measure) {
  const scene = yield* collectItems(model, groups);
  yield* collectEdges(scene);
  const width = new Float64Array(scene.count);
  const height = new Float64Array(scene.count);
  for (let item = 1; item < scene.count; item += 1) {
    [width[item], height[item]] = measure(scene, item);
    if (item % SLICE === 0) yield;
  }
  scene.take(yield* layOut({
    parent: Int32Array.from(scene.parent),
    isFrame: Uint8Array.from(scene.kind, (kind) => kind === OPEN),
    rank: Float64Array.from(scene.kind.keys(), (item) => scene.first(item)),
    width,
    height,
    from: Int32Array.from(scene.edgeFrom),
    to: Int32Array.from(scene.edgeTo),
  }));
  yield;
  yield* scene.makeIndex();
  return scene;
}

function* collectItems(model, groups) {
  const scene = new Scene(model, groups);
  const stack = [[0, -1]];
  while (stack.length > 0) {
    const [group, parent] = stack.pop();
    const item = scene.add(groups.open[group] ? OPEN : FOLDED, group, parent);
    scene.itemOfGroup[group] = item;
    if (!groups.open[group]) {
      for (const node of groups.nodesOf(group)) scene.itemOfNode[node] = item;
      continue;
    }
    for (const node of groups.ownNodes(group)) {
      scene.itemOfNode[node] = scene.add(OP, node, item);
    }
    for (const child of groups.childrenOf(group)) stack.push([child, item]);
    if (scene.count % 64 === 0) yield;
  }
  return scene;
}

/** Finds which items are joined, and by how many edges. */
function* collectEdges(scene) {
  const { model } = scene;
  const { edges, ends } = model.flow;
  const slot = new Int32Array(scene.count);
  const seenFrom = new Int32Array(scene.count).fill(-1);
  let steps = 0;
  for (let item = 0; item < scene.count; item += 1) {
    if (scene.kind[item] === OPEN) continue;
    for (const node of scene.nodesOf(item)) {
      for (let k = edges.start[node]; k < edges.start[node + 1]; k += 1) {
        const edge = edges.rows[k];
        const other = scene.itemOfNode[ends[edge]];
        if (other === item) continue;
        if (seenFrom[other] !== item) {
          seenFrom[other] = item;
          slot[other] = scene.edgeFrom.push(item) - 1;
          scene.edgeTo.push(other);
          scene.edgeCount.push(0);
          scene.edgeFirst.push(edge);
        }
        scene.edgeCount[slot[other]] += 1;
      }
      steps += 1;
      if (steps % SLICE === 0) yield;
    }
  }
}
