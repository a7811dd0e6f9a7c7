// @ts-check
/** The rules of a game from its page, and what every position is worth; the data are those of mdpdice/web/rules.py. */

/** @typedef {(counters: number[]) => number | boolean} Compiled */
/** @typedef {[number, number, string]} Packed how many, bytes of each, and the text */
/** @typedef {{state: number, counters: number[], index: number}} Position a core state, counters, their grid point */
/** @typedef {{groups: [(string | number)[], number[], string, number][], of: number[], weights: number[]}} ThrowData */
/** @typedef {{name: string, first: number, step: number, size: number, start: number, outside: string}} Axis */

const WARM = 3;
export const [END, DECIDE, CHANCE, WHEN, GO, PASS] = [0, 1, 2, 3, 4, 5];

/** @param {string} text @returns {Promise<Uint8Array>} */
async function inflate(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Whole numbers from their differences: see mdpdice/web/packing.py. @param {Packed} packed */
async function unpack([count, width, text]) {
  const [bytes, found] = [await inflate(text), new Float64Array(count)];
  for (let i = 0, last = 0; i < count; i++) {
    let folded = 0;
    for (let plane = width - 1; plane >= 0; plane--) folded = folded * 256 + bytes[plane * count + i];
    last += folded % 2 ? -(folded + 1) / 2 : folded / 2;
    found[i] = last;
  }
  return found;
}

/** @param {Packed} packed */
const integers = async (packed) => Int32Array.from(await unpack(packed));

/** Lists of different lengths, from the lengths and all that is in them. @param {Packed[]} packed */
async function lists(packed) {
  const [sizes, all] = await Promise.all(packed.map(integers));
  const begin = new Int32Array(sizes.length + 1);
  sizes.forEach((size, i) => (begin[i + 1] = begin[i] + size));
  return { begin, all };
}

/** Bits that two numbers share; they may have more than 32. @param {number} a @param {number} b */
const shared = (a, b) => (a < 2 ** 31 && b < 2 ** 31 ? a & b : Number(BigInt(a) & BigInt(b)));

/** @param {number} bits */
function bitCount(bits) {
  let found = 0;
  for (let left = bits; left > 0; left = Math.floor(left / 2)) found += left % 2;
  return found;
}

/** How many bits a byte has. */
const BITS = Uint8Array.from({ length: 256 }, (_, byte) => bitCount(byte));

/** @param {Uint8Array} bits @param {number} place */
const marked = (bits, place) => (bits[place >> 3] >> (place & 7)) & 1;

/** @type {Record<string, (a: number, b: number) => any>} */
const PAIRS = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "//": (a, b) => Math.floor(a / b),
  "%": (a, b) => ((a % b) + b) % b,
  least: Math.min,
  most: Math.max,
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
  "==": (a, b) => a === b,
  "!=": (a, b) => a !== b,
  has: (flags, mask) => shared(flags, mask) === mask,
  any: (flags, mask) => shared(flags, mask) !== 0,
  count: (flags, mask) => bitCount(shared(flags, mask)),
  with: (flags, mask) => flags + mask - shared(flags, mask),
  without: (flags, mask) => flags - shared(flags, mask),
};

/** An expression as a function of the counters. @param {any} tree @returns {Compiled} */
function compileExpression(tree) {
  if (!Array.isArray(tree)) return () => tree;
  const [op, ...args] = tree;
  if (op === "counter") return (counters) => counters[args[0]];
  if (op === "table") {
    const index = compileExpression(args[1]);
    return (counters) => args[0][Number(index(counters))];
  }
  const parts = args.map(compileExpression);
  const pair = PAIRS[op];
  if (op === "&") return (counters) => parts.every((part) => part(counters));
  if (op === "|") return (counters) => parts.some((part) => part(counters));
  if (op === "~") return (counters) => !parts[0](counters);
  if (op === "neg") return (counters) => -parts[0](counters);
  if (!pair) throw new Error(`this page does not know the operation ${op}`);
  return parts.reduce((left, right) => (counters) => pair(Number(left(counters)), Number(right(counters))));
}

/** A game with its values. */
export class Model {
  /** @param {string} text @returns {Promise<Model>} */
  static async read(text) {
    const packed = JSON.parse(text);
    const made = new Model(JSON.parse(new TextDecoder().decode(await inflate(packed.model))));
    made.kind = await integers(packed.nodes);
    const three = /** @type {Packed[][]} */ (packed.columns).map((some) => Promise.all(some.map(integers)));
    const columns = await Promise.all(three);
    const seen = columns.map(() => 0);
    made.numbers = made.numbers.map(() => new Int32Array(made.kind.length));
    made.kind.forEach((kind, node) => {
      made.numbers.forEach((column, at) => (column[node] = columns[kind][at][seen[kind]]));
      seen[kind]++;
    });
    ({ begin: made.begin, all: made.children } = await lists(packed.children));
    const tables = await lists(packed.tables);
    made.table = (at) => tables.all.subarray(tables.begin[at], tables.begin[at + 1]);
    [made.roots, made.shown, made.variants] = await Promise.all([packed.roots, ...packed.shown].map(integers));
    made.row = await integers(packed.row);
    [made.marks, made.fresh] = await Promise.all([packed.marks, packed.fresh].map(([, , text]) => inflate(text)));
    made.before = new Int32Array(made.fresh.length + 1);
    made.fresh.forEach((byte, i) => (made.before[i + 1] = made.before[i] + BITS[byte]));
    made.values = made.summed(packed, await Promise.all(packed.groups.map(unpack)));
    [made.stamps, made.worths] = [new Int32Array(made.kind.length), new Float64Array(made.kind.length)];
    // Browsers compile what runs often: the first decision shall not take longer than others.
    for (let times = 0; times < WARM; times++) made.worth(made.roots[0], made.start(), ++made.stamp);
    return made;
  }

  /** @param {any} data */
  constructor(data) {
    this.data = data;
    this.axes = /** @type {Axis[]} */ (data.axes);
    this.strides = /** @type {number[]} */ ([]);
    this.points = this.axes.reduceRight((points, axis, i) => (this.strides[i] = points) * axis.size, 1);
    this.exprs = /** @type {Compiled[]} */ (data.exprs.map(compileExpression));
    this.kind = this.children = this.begin = this.roots = this.shown = this.variants = new Int32Array(0);
    this.row = this.before = this.stamps = this.kind;
    this.numbers = [this.kind, this.kind, this.kind];
    this.values = this.worths = new Float64Array(0);
    this.marks = this.fresh = /** @type {Uint8Array} */ (new Uint8Array(0));
    this.table = (/** @type {number} */ _) => this.kind;
    this.stamp = 0; // of a position; what is found at one is remembered with its stamp
    this.aimed = new Int32Array(data.updates.length); // stamps of targets
    this.targets = new Float64Array(data.updates.length);
    /** @type {{groups: ThrowData["groups"], of: number[], weights: number[], chances: number[]}[]} */
    this.throws = data.throws.map((/** @type {ThrowData} */ one) => {
      const total = one.weights.reduce((a, b) => a + b, 0);
      return { ...one, chances: one.weights.map((weight) => weight / total) };
    });
  }

  /** A value that is kept, NaN where none is. @param {number} state @param {number} index */
  kept(state, index) {
    const place = this.row[state] * this.points + index;
    return this.row[state] < 0 || !marked(this.marks, place) ? NaN : this.values[this.last(place)];
  }

  /** The last value that is not that of the place before it, up to a place. @param {number} place */
  last(place) {
    return this.before[place >> 3] + BITS[this.fresh[place >> 3] & ((2 << (place & 7)) - 1)] - 1;
  }

  /** Values from their steps: see mdpdice/web/values.py. @param {any} packed @param {Float64Array[]} groups */
  summed({ length, bases, most, step }, groups) {
    const steps = new Float64Array(this.before[this.fresh.length]);
    const [values, next] = [new Float64Array(steps.length), groups.map(() => 0)];
    let [row, sum, shifts] = [-1, 0, [[0, -1]]];
    for (let at = 0, place = 0; at < steps.length; place++) {
      if (!this.fresh[place >> 3]) place |= 7;
      if (!marked(this.fresh, place)) continue;
      if (row !== Math.floor(place / length)) {
        [row, sum, shifts] = [Math.floor(place / length), 0, [[0, -1]]];
        const less = bases.filter((/** @type {number[]} */ [far, size]) => Math.floor((row * length) / far) % size);
        for (const [far] of less.slice(0, most)) shifts.push(...shifts.map(([back, sign]) => [back + far, -sign]));
      }
      let expected = 0;
      for (let i = 1; i < shifts.length; i++) {
        const there = place - shifts[i][0];
        if (marked(this.fresh, there)) expected += shifts[i][1] * steps[this.last(there)];
      }
      const which = Math.min(32 - Math.clz32(Math.min(Math.abs(expected), 2 ** 31)), groups.length - 1);
      const [group, i] = [groups[which], next[which]++];
      steps[at] = expected + group[i] - (i && group[i - 1]);
      sum += steps[at];
      const bent = Math.abs(sum * step);
      values[at++] = bent > 1 ? Math.sign(sum) * Math.exp(bent - 1) : sum * step;
    }
    return values;
  }

  /** @param {number} state @param {number} index @returns {Position} */
  placed(state, index) {
    const places = this.axes.map(({ size }, i) => Math.floor(index / this.strides[i]) % size);
    return { state, counters: this.axes.map(({ first, step }, i) => first + step * places[i]), index };
  }

  /** The grid point of counters. @param {number[]} counters */
  index(counters) {
    return this.axes.reduce((all, { first, step }, i) => all + ((counters[i] - first) / step) * this.strides[i], 0);
  }

  /** Where a play starts. */
  start() {
    return this.placed(0, this.index(this.axes.map((axis) => axis.start)));
  }

  /** The value of an expression; that of -1 is 0. @param {number} expr @param {Position} at */
  number(expr, at) {
    return expr < 0 ? 0 : Number(this.exprs[expr](at.counters));
  }

  /** What a node pays at once. @param {number} node @param {Position} at */
  pays(node, at) {
    const column = this.kind[node] === CHANCE ? 1 : this.kind[node] >= GO ? 2 : -1;
    return column < 0 ? 0 : this.number(this.numbers[column][node], at);
  }

  /** The grid point after an update, -1 where it may not be.
   * @param {number} update @param {Position} at @param {number} stamp */
  target(update, at, stamp) {
    if (update < 0) return at.index;
    if (this.aimed[update] === stamp) return this.targets[update];
    let found = at.index;
    for (const [which, expr] of this.data.updates[update]) {
      const { name, first, step, size, outside } = this.axes[which];
      let place = (this.number(expr, at) - first) / step;
      if (outside === "clip") place = Math.min(Math.max(place, 0), size - 1);
      found += (place - (at.counters[which] - first) / step) * this.strides[which];
      if (place >= 0 && place < size) continue;
      if (outside === "error") throw new Error(`${name} leaves its range`);
      found = -1;
      break;
    }
    this.aimed[update] = stamp;
    this.targets[update] = found;
    return found;
  }

  /** Where a move leads. @param {number} node @param {Position} at */
  moved(node, at) {
    return this.placed(this.numbers[0][node], this.target(this.numbers[1][node], at, ++this.stamp));
  }

  /** The nodes that a node leads to. @param {number} node */
  below(node) {
    return this.children.subarray(this.begin[node], this.begin[node + 1]);
  }

  /** The node that a node stands for once conditions are settled; -1: the option is not available.
   * @param {number} node @param {Position} at */
  settled(node, at) {
    let found = node;
    while (found >= 0 && this.kind[found] === WHEN) {
      const next = this.begin[found] + (this.exprs[this.numbers[0][found]](at.counters) ? 0 : 1);
      found = next < this.begin[found + 1] ? this.children[next] : -1;
    }
    return found;
  }

  /** Whether an option is there. @param {number} node @param {Position} at @param {number} stamp */
  there(node, at, stamp) {
    return node >= 0 && (this.kind[node] < GO || this.target(this.numbers[1][node], at, stamp) >= 0);
  }

  /** The options of a decision that are there: their places in it, and their nodes.
   * @param {number} node @param {Position} at */
  options(node, at) {
    const stamp = ++this.stamp;
    const all = [...this.below(node)].map((child, place) => ({ place, node: this.settled(child, at) }));
    return all.filter((one) => this.there(one.node, at, stamp));
  }

  /** The same, with what they are worth to the player who decides. @param {number} node @param {Position} at */
  rated(node, at) {
    const [options, sign] = [this.options(node, at), this.wantsLess(node) ? -1 : 1];
    return options.map((one) => ({ ...one, worth: sign * this.worth(one.node, at, this.stamp) }));
  }

  /** The first of the best options. @param {number} node @param {Position} at */
  best(node, at) {
    return this.rated(node, at).reduce((best, one) => (one.worth > best.worth ? one : best));
  }

  /** Whether less is better for the player who decides. @param {number} node */
  wantsLess(node) {
    return (this.numbers[0][node] === 1) !== (this.data.sense === "min");
  }

  /** What a node is worth to the player to move, NaN where play does not come.
   * @param {number} node @param {Position} at @param {number} stamp @returns {number} */
  worth(node, at, stamp) {
    if (this.stamps[node] === stamp) return this.worths[node];
    const kind = this.kind[node]; // each on its own: before browsers compile this, lists would take long
    const first = this.begin[node];
    const last = this.begin[node + 1];
    let found = 0;
    if (kind === END) {
      found = this.number(this.numbers[0][node], at);
    } else if (kind === DECIDE) {
      const sign = this.wantsLess(node) ? -1 : 1;
      found = -Infinity;
      for (let i = first; i < last; i++) {
        const option = this.settled(this.children[i], at);
        if (!this.there(option, at, stamp)) continue;
        const worth = sign * this.worth(option, at, stamp);
        if (!(worth <= found)) found = worth;
      }
      found *= sign;
    } else if (kind === CHANCE) {
      const { chances } = this.throws[this.numbers[0][node]];
      found = this.number(this.numbers[1][node], at);
      for (let i = first; i < last; i++) found += chances[i - first] * this.worth(this.children[i], at, stamp);
    } else if (kind === WHEN) {
      found = this.worth(this.settled(node, at), at, stamp);
    } else {
      const state = this.numbers[0][node];
      const index = this.target(this.numbers[1][node], at, stamp);
      let ahead = this.kept(state, index);
      if (Number.isNaN(ahead) && index === at.index) ahead = this.worth(this.roots[state], at, stamp);
      found = this.number(this.numbers[2][node], at) + (kind === PASS ? this.data.total - ahead : ahead);
    }
    this.stamps[node] = stamp;
    this.worths[node] = found;
    return found;
  }
}
