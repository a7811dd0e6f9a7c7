// @ts-check
/** The rules of a game from its page, and what every position is worth; the data are those of mdpdice/web/rules.py. */

/** @typedef {(counters: number[]) => number | boolean} Compiled */
/** @typedef {[number, number, string]} Packed how many, bytes of each, and the text */
/** @typedef {{state: number, counters: number[], index: number}} Position a core state, counters, their grid point */
/** @typedef {{groups: [(string | number)[], number[], string, number][], of: number[], weights: number[]}} ThrowData */
/** @typedef {{name: string, first: number, step: number, size: number, start: number, outside: string}} Axis */

export const [END, DECIDE, CHANCE, WHEN, GO, PASS] = [0, 1, 2, 3, 4, 5];

/** @param {string} text @returns {Promise<Uint8Array>} */
async function inflate(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Whole numbers from their differences: see mdpdice/web/packing.py. @param {Packed} packed */
async function unpack([count, width, text]) {
  const bytes = await inflate(text);
  const found = new Float64Array(count);
  let last = 0;
  for (let i = 0; i < count; i++) {
    let folded = 0;
    for (let plane = width - 1; plane >= 0; plane--) folded = folded * 256 + bytes[plane * count + i];
    last += folded % 2 ? -(folded + 1) / 2 : folded / 2;
    found[i] = last;
  }
  return found;
}

/** @param {Packed} packed */
async function integers(packed) {
  return Int32Array.from(await unpack(packed));
}

/** Bits of two numbers, which may have more than 32. @param {number} a @param {number} b */
function both(a, b) {
  return a < 2 ** 31 && b < 2 ** 31 ? a & b : Number(BigInt(a) & BigInt(b));
}

/** @param {number} bits */
function bitCount(bits) {
  let found = 0;
  for (let left = bits; left > 0; left = Math.floor(left / 2)) found += left % 2;
  return found;
}

/** @type {Record<string, (a: number, b: number) => number>} */
const ARITHMETIC = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "//": (a, b) => Math.floor(a / b),
  "%": (a, b) => ((a % b) + b) % b,
  least: Math.min,
  most: Math.max,
};
/** @type {Record<string, (a: number, b: number) => boolean>} */
const COMPARISONS = {
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
  "==": (a, b) => a === b,
  "!=": (a, b) => a !== b,
};
/** @type {Record<string, (flags: number, mask: number) => number | boolean>} */
const FLAGS = {
  has: (flags, mask) => both(flags, mask) === mask,
  any: (flags, mask) => both(flags, mask) !== 0,
  count: (flags, mask) => bitCount(both(flags, mask)),
  with: (flags, mask) => flags + mask - both(flags, mask),
  without: (flags, mask) => flags - both(flags, mask),
};

/** An expression as a function of the counters. @param {any} tree @returns {Compiled} */
export function compileExpression(tree) {
  if (!Array.isArray(tree)) return () => tree;
  const [op, ...args] = tree;
  if (op === "counter") return (counters) => counters[args[0]];
  if (op === "table") {
    const [entries, index] = [args[0], compileExpression(args[1])];
    return (counters) => entries[Number(index(counters))];
  }
  const parts = args.map(compileExpression);
  if (op === "&") return (counters) => parts.every((part) => part(counters));
  if (op === "|") return (counters) => parts.some((part) => part(counters));
  const [first, second] = parts;
  if (op === "~") return (counters) => !first(counters);
  if (op === "neg") return (counters) => -first(counters);
  const pair = COMPARISONS[op] ?? FLAGS[op];
  if (pair) return (counters) => pair(Number(first(counters)), Number(second(counters)));
  const join = ARITHMETIC[op];
  if (!join) throw new Error(`this page does not know the operation ${op}`);
  return (counters) => parts.slice(1).reduce((so, part) => join(so, Number(part(counters))), Number(first(counters)));
}

/** The values that are kept: which there are, and where. */
class Kept {
  /**
   * @param {Int32Array} row @param {Uint8Array} marks @param {Float64Array} values
   * @param {number} block places that have a unit in common @param {number[]} units
   */
  constructor(row, marks, values, block, units) {
    this.row = row;
    this.marks = marks;
    this.values = values;
    this.block = block;
    this.units = units;
    this.before = new Int32Array(marks.length + 1);
    for (let i = 0; i < marks.length; i++) this.before[i + 1] = this.before[i] + bitCount(marks[i]);
  }

  /** A value, NaN where none is kept. @param {number} state @param {number} index @param {number} points */
  at(state, index, points) {
    const row = this.row[state];
    if (row < 0) return NaN;
    const place = row * points + index;
    const [byte, bit] = [Math.floor(place / 8), place % 8];
    if (!(this.marks[byte] & (1 << bit))) return NaN;
    return this.values[this.before[byte] + bitCount(this.marks[byte] & ((1 << bit) - 1))] * this.units[Math.floor(place / this.block)];
  }
}

/** A game with its values. */
export class Model {
  /** @param {string} text @returns {Promise<Model>} */
  static async read(text) {
    const data = JSON.parse(text);
    const model = JSON.parse(new TextDecoder().decode(await inflate(data.model)));
    const made = new Model(model);
    made.kind = await integers(data.nodes);
    const columns = await Promise.all(data.columns.map((/** @type {Packed[]} */ three) => Promise.all(three.map(integers))));
    const seen = columns.map(() => 0);
    made.numbers = made.numbers.map(() => new Int32Array(made.kind.length));
    made.kind.forEach((kind, node) => {
      for (let at = 0; at < 3; at++) made.numbers[at][node] = columns[kind][at][seen[kind]];
      seen[kind]++;
    });
    const [sizes, children] = await Promise.all(data.children.map(integers));
    made.children = children;
    made.begin = starts(sizes);
    made.roots = await integers(data.roots);
    [made.shown, made.variants] = await Promise.all(data.shown.map(integers));
    const [lengths, parts] = await Promise.all(data.tables.map(integers));
    const begin = starts(lengths);
    made.table = (at) => parts.subarray(begin[at], begin[at + 1]);
    const units = Array.from(await integers(data.scale), (scale) => data.finest * 2 ** scale);
    const [row, marks, values] = [await integers(data.row), await inflate(data.marks[2]), await unpack(data.values)];
    made.kept = new Kept(row, marks, values, data.block, units);
    made.stamps = new Int32Array(made.kind.length);
    made.worths = new Float64Array(made.kind.length);
    return made;
  }

  /** @param {any} data */
  constructor(data) {
    this.data = data;
    /** @type {Axis[]} */
    this.axes = data.axes;
    this.points = this.axes.reduce((all, axis) => all * axis.size, 1);
    this.exprs = data.exprs.map(compileExpression);
    this.minimises = data.sense === "min";
    this.kind = this.children = this.begin = this.roots = this.shown = this.variants = this.stamps = new Int32Array(0);
    this.worths = new Float64Array(0);
    this.numbers = [this.kind, this.kind, this.kind];
    /** @type {(at: number) => Int32Array} */
    this.table = () => this.kind;
    this.kept = new Kept(this.kind, new Uint8Array(0), this.worths, 1, []);
    this.stamp = 0;
    this.strides = this.axes.map((_, i) => this.axes.slice(i + 1).reduce((all, axis) => all * axis.size, 1));
    this.aimed = new Int32Array(data.updates.length); // the stamps of targets
    this.targets = new Float64Array(data.updates.length);
    /** @type {{groups: ThrowData["groups"], of: number[], chances: number[]}[]} */
    this.throws = data.throws.map((/** @type {ThrowData} */ one) => {
      const total = one.weights.reduce((a, b) => a + b, 0);
      return { ...one, chances: one.weights.map((weight) => weight / total) };
    });
  }

  /** Where a play starts. @returns {Position} */
  start() {
    return this.placed(0, this.axes.map((axis) => axis.start));
  }

  /** @param {number} state @param {number[]} counters @returns {Position} */
  placed(state, counters) {
    const at = (/** @type {number} */ all, /** @type {Axis} */ axis, /** @type {number} */ i) =>
      all * axis.size + (counters[i] - axis.first) / axis.step;
    return { state, counters, index: this.axes.reduce(at, 0) };
  }

  /** A number of an expression; -1 is 0. @param {number} expr @param {Position} at */
  number(expr, at) {
    return expr < 0 ? 0 : Number(this.exprs[expr](at.counters));
  }

  /** Where a move leads; null where it may not. @param {number} node @param {Position} at @returns {Position | null} */
  moved(node, at) {
    const [state, update] = [this.numbers[0][node], this.numbers[1][node]];
    if (update < 0) return { ...at, state };
    const counters = [...at.counters];
    for (const [which, expr] of this.data.updates[update]) {
      const axis = this.axes[which];
      const place = this.place(axis, this.number(expr, at));
      if (place < 0) return null;
      counters[which] = axis.first + axis.step * place;
    }
    return this.placed(state, counters);
  }

  /** Where a value is on its axis; -1 where it may not be. @param {Axis} axis @param {number} value */
  place(axis, value) {
    const place = (value - axis.first) / axis.step;
    if (place >= 0 && place < axis.size) return place;
    if (axis.outside === "clip") return place < 0 ? 0 : axis.size - 1;
    if (axis.outside === "forbid") return -1;
    throw new Error(`${axis.name} leaves its range`);
  }

  /** The grid point after an update, -1 where it may not be; found once a position. @param {number} update @param {Position} at @param {number} stamp */
  target(update, at, stamp) {
    if (update < 0) return at.index;
    if (this.aimed[update] === stamp) return this.targets[update];
    let found = at.index;
    for (const [which, expr] of this.data.updates[update]) {
      const axis = this.axes[which];
      const place = this.place(axis, this.number(expr, at));
      if (place < 0) {
        found = -1;
        break;
      }
      found += (place - (at.counters[which] - axis.first) / axis.step) * this.strides[which];
    }
    this.aimed[update] = stamp;
    this.targets[update] = found;
    return found;
  }

  /** The nodes that a node leads to. @param {number} node */
  below(node) {
    return this.children.subarray(this.begin[node], this.begin[node + 1]);
  }

  /** What a node comes to where conditions are settled; -1 where the option is not there. @param {number} node @param {Position} at */
  settled(node, at) {
    let found = node;
    while (found >= 0 && this.kind[found] === WHEN) {
      const [first, last] = [this.begin[found], this.begin[found + 1]];
      const next = this.exprs[this.numbers[0][found]](at.counters) ? first : first + 1;
      found = next < last ? this.children[next] : -1;
    }
    return found;
  }

  /** The options of a decision: their place in it, and their nodes. @param {number} node @param {Position} at */
  options(node, at) {
    const [found, stamp] = [/** @type {{place: number, node: number}[]} */ ([]), ++this.stamp];
    this.below(node).forEach((child, place) => {
      const option = this.settled(child, at);
      if (option >= 0 && this.there(option, at, stamp)) found.push({ place, node: option });
    });
    return found;
  }

  /** Whether less is better for who decides. @param {number} node */
  wantsLess(node) {
    return (this.numbers[0][node] === 1) !== this.minimises;
  }

  /** What a position is worth to who is to move. @param {Position} at @returns {number} */
  value(at) {
    const kept = this.kept.at(at.state, at.index, this.points);
    return Number.isNaN(kept) ? this.worth(this.roots[at.state], at) : kept;
  }

  /**
   * What a node is worth, NaN where play does not come; what was found at this position before is known by its stamp.
   * @param {number} node @param {Position} at @param {number} [stamp] @returns {number}
   */
  worth(node, at, stamp = ++this.stamp) {
    if (this.stamps[node] === stamp) return this.worths[node];
    const kind = this.kind[node];
    const [first, last] = [this.begin[node], this.begin[node + 1]];
    let found = 0;
    if (kind === END) {
      found = this.number(this.numbers[0][node], at);
    } else if (kind === DECIDE) {
      const sign = this.wantsLess(node) ? -1 : 1;
      found = -Infinity;
      for (let i = first; i < last; i++) {
        const option = this.settled(this.children[i], at);
        if (option < 0 || !this.there(option, at, stamp)) continue;
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
      let ahead = this.kept.at(state, index, this.points);
      if (Number.isNaN(ahead) && index === at.index) ahead = this.worth(this.roots[state], at, stamp);
      found = this.number(this.numbers[2][node], at) + (kind === PASS ? this.data.total - ahead : ahead);
    }
    this.stamps[node] = stamp;
    this.worths[node] = found;
    return found;
  }

  /** Whether an option is there. @param {number} node @param {Position} at @param {number} stamp */
  there(node, at, stamp) {
    const kind = this.kind[node];
    return (kind !== GO && kind !== PASS) || this.target(this.numbers[1][node], at, stamp) >= 0;
  }
}

/** Where the parts of a list begin, from their lengths. @param {Int32Array} sizes */
function starts(sizes) {
  const found = new Int32Array(sizes.length + 1);
  sizes.forEach((size, i) => (found[i + 1] = found[i] + size));
  return found;
}
