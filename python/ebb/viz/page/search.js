// python/ebb/viz/page/search.js -- finds nodes by op, name, module, line or number.

class Search {
  constructor(model) {
    this.model = model;
    this.query = "";
    this.hits = [];
    this.at = -1;
  }

  /** Which strings of the table hold a word; each string is looked at once, not each node. */
  _matchingStrings(word) {
    return Uint8Array.from(this.model.data.strings, (text) => (
      text.toLowerCase().includes(word) ? 1 : 0));
  }

  /** Sets `hits` to the nodes for which every word of the query is in some text of theirs. */
  run(query) {
    this.query = query.trim().toLowerCase();
    this.hits = [];
    this.at = -1;
    const { model } = this;
    if (this.query === "") return;
    const exact = /^#(\d+)$/.exec(this.query);
    if (exact) {
      if (Number(exact[1]) < model.count) this.hits = [Number(exact[1])];
      return;
    }
    let left = null;
    for (const word of this.query.split(/\s+/)) {
      const next = this._nodesWith(this._matchingStrings(word), word);
      left = left === null ? next : new Set([...left].filter((node) => next.has(node)));
    }
    this.hits = [...left].sort((a, b) => a - b);
  }

  _nodesWith(isMatch, word) {
    const { data } = this.model;
    const test = (index) => index >= 0 && isMatch[index] === 1;
    const inModule = data.modules.path.map((path, k) => test(path) || test(data.modules.type[k]));
    const inLocation = data.locations.file.map((file, k) => test(file) ||
      test(data.locations.function[k]) || this.model.locationText(k).toLowerCase().includes(word));
    const found = new Set();
    for (let node = 0; node < this.model.count; node += 1) {
      const module = data.nodes.module[node];
      const location = data.nodes.location[node];
      const row = this.model.leafRow[node];
      if (test(data.nodes.name[node]) || (module >= 0 && inModule[module]) ||
          (location >= 0 && inLocation[location]) || (row >= 0 && test(data.leaves.name[row]))) {
        found.add(node);
      }
    }
    return found;
  }

  /** Moves to the next or previous hit and returns it; -1 if there is none. */
  step(by) {
    const count = this.hits.length;
    if (count === 0) return -1;
    if (this.at < 0) this.at = by > 0 ? 0 : count - 1;
    else this.at = (this.at + by + count) % count;
    return this.hits[this.at];
  }

  get countText() {
    if (this.query === "") return "";
    if (this.hits.length === 0) return "none";
    const total = numberText(this.hits.length);
    return this.at < 0 ? total : `${numberText(this.at + 1)} / ${total}`;
  }
}
