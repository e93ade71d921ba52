// python/ebb/viz/page/steps.js -- steps of loops: stretches of the program that repeat at once.
//
// What a module records of its own is looked through, in forward order, for ops that come again in
// the same order and are joined in the same way. Such steps become groups, which fold as one box.

const LEAST_LOOP = 24;  // ops; a shorter loop is seen sooner than unfolded

class Loops {
  constructor(model) {
    this.model = model;
    this.numbers = new Map();
    this.place = new Int32Array(model.count).fill(-1);  // of an op in the list that is searched
  }

  /** Where each loop among `ops`, in forward order, begins; ops in a step; how many steps. */
  find(ops) {
    if (ops.length < LEAST_LOOP) return [];
    const { input, to } = this.model.data.edges;
    const [start, inputs, makers] = [[0], [], []];
    ops.forEach((node, place) => { this.place[node] = place; });
    for (const node of ops) {
      eachRow(this.model.outEdges, node, (edge) => {
        inputs.push(input[edge]);
        makers.push(this.place[to[edge]]);
      });
      start.push(inputs.length);
    }
    for (const node of ops) this.place[node] = -1;
    const symbols = ops.map((node) => this._look(node));
    return findLoops(symbols, start, inputs, makers, LEAST_LOOP);
  }

  /** A number that is equal for ops of one name whose results have equal shapes and dtypes. */
  _look(node) {
    const { nodes, outputs } = this.model.data;
    let look = this._number(nodes.name[node], -1);
    eachRow(this.model.outputs, node, (row) => {
      look = this._number(this._number(look, outputs.shape[row]), outputs.dtype[row]);
    });
    return look;
  }

  _number(before, value) {
    const key = (before + 1) * 0x4000000 + value + 1;
    let number = this.numbers.get(key);
    if (number === undefined) this.numbers.set(key, number = this.numbers.size);
    return number;
  }
}
