// python/ebb/viz/page/steps.js -- steps of loops: stretches of the program that repeat at once.
//
// What a module records of its own is looked through, in forward order, for ops that come again in
// the same order and are joined in the same way. Such steps become groups, which fold as one box.

const LEAST_STEPS = 3;
const LEAST_APART = 8;  // steps that hand nothing on to the next one may be told apart up to here
const LEAST_LOOP = 24;  // ops; a shorter loop is seen sooner than unfolded
const MOST_STEP = 5000;  // ops in the longest step that is looked for
const EFFORT = 40;  // comparisons per op, at most

class Loops {
  constructor(model) {
    this.model = model;
    this.numbers = new Map();
    this.place = new Int32Array(model.count).fill(-1);  // of an op in the list that is searched
  }

  /** Where each loop among `ops`, in forward order, begins; ops in a step; how many steps. */
  find(ops) {
    if (ops.length < LEAST_LOOP) return [];
    this.ops = ops;
    this.symbols = ops.map((node) => this._look(node));
    ops.forEach((node, place) => { this.place[node] = place; });
    const found = this._search();
    for (const node of ops) this.place[node] = -1;
    return found;
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

  _search() {
    const { symbols } = this;
    const following = this._following();
    const found = [];
    let free = 0;
    this.effort = EFFORT * symbols.length;
    for (let begin = 0; begin < symbols.length && this.effort > 0;) {
      const [step, end] = this._longest(begin, following);
      if (step === 0) {
        begin += 1;
        continue;
      }
      let first = begin;  // what comes before the first full step lacks what steps hand on
      while (first > free && symbols[first - 1] === symbols[first - 1 + step]) first -= 1;
      const times = Math.floor((end - first) / step);
      const least = this._handsOn(begin, step) ? LEAST_STEPS : LEAST_APART;
      if (times >= least && times * step >= LEAST_LOOP) {
        found.push({ begin: first, step, times });
        begin = first + times * step;
        free = begin;
      } else {
        begin += 1;
      }
    }
    return found;
  }

  /** For each place the next one with the same op. */
  _following() {
    const count = this.symbols.length;
    const following = new Int32Array(count);
    const seen = new Map();
    for (let place = count - 1; place >= 0; place -= 1) {
      following[place] = seen.get(this.symbols[place]) ?? count;
      seen.set(this.symbols[place], place);
    }
    return following;
  }

  /** The length of a step that is repeated from here on, 0 if none is, and where that ends. */
  _longest(begin, following) {
    const count = this.symbols.length;
    let again = following[begin];
    for (let turn = 0; turn < 3 && again < count && again - begin <= MOST_STEP; turn += 1) {
      const step = again - begin;
      let end = again;
      while (end < count && this._isSame(end, end - step)) end += 1;
      this.effort -= end - again + 1;
      if (end - begin >= 2 * step) return [step, end];
      again = following[again];
    }
    return [0, begin];
  }

  /** Whether the second step from a place on uses what the first one made. */
  _handsOn(begin, step) {
    const { to } = this.model.data.edges;
    for (let place = begin + step; place < begin + 2 * step; place += 1) {
      for (const edge of rowsOf(this.model.outEdges, this.ops[place])) {
        const maker = this.place[to[edge]];
        if (maker >= begin && maker < begin + step) return true;
      }
    }
    return false;
  }

  /** Equal ops whose inputs were made equally far before them, or by the same op. */
  _isSame(one, other) {
    if (this.symbols[one] !== this.symbols[other]) return false;
    const { input, to } = this.model.data.edges;
    const { start, rows } = this.model.outEdges;
    const [ours, theirs] = [this.ops[one], this.ops[other]];
    const count = start[ours + 1] - start[ours];
    if (count !== start[theirs + 1] - start[theirs]) return false;
    for (let k = 0; k < count; k += 1) {
      const [edge, twin] = [rows[start[ours] + k], rows[start[theirs] + k]];
      const [maker, twinMaker] = [this.place[to[edge]], this.place[to[twin]]];
      const isSame = maker === twinMaker || one - maker === other - twinMaker;
      if (input[edge] !== input[twin] || !isSame) return false;
    }
    return true;
  }
}
