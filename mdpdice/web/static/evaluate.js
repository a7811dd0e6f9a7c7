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
  /** @param {Int32Array} row @param {Uint8Array} marks @param {Float64Array} values @param {number} unit */
  constructor(row, marks, values, unit) {
    [this.row, this.marks, this.values, this.unit] = [row, marks, values, unit];
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
    return this.values[this.before[byte] + bitCount(this.marks[byte] & ((1 << bit) - 1))] * this.unit;
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
    for (const column of made.numbers) column.length = made.kind.length;
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
    made.kept = new Kept(await integers(data.row), await inflate(data.marks[2]), await unpack(data.values), data.unit);
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
    /** @type {number[][]} */
    this.numbers = [[], [], []];
    /** @type {(at: number) => Int32Array} */
    this.table = () => this.kind;
    this.kept = new Kept(this.kind, new Uint8Array(0), this.worths, 1);
    this.stamp = 0;
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
      let place = (this.number(expr, at) - axis.first) / axis.step;
      if (place < 0 || place >= axis.size) {
        if (axis.outside === "forbid") return null;
        if (axis.outside !== "clip") throw new Error(`${axis.name} leaves its range`);
        place = place < 0 ? 0 : axis.size - 1;
      }
      counters[which] = axis.first + axis.step * place;
    }
    return this.placed(state, counters);
  }

  /** The nodes that a node leads to. @param {number} node */
  below(node) {
    return this.children.subarray(this.begin[node], this.begin[node + 1]);
  }

  /** What a node comes to where conditions are settled; -1 where the option is not there. @param {number} node @param {Position} at */
  settled(node, at) {
    let found = node;
    while (found >= 0 && this.kind[found] === WHEN) {
      const [then, otherwise = -1] = this.below(found);
      found = this.exprs[this.numbers[0][found]](at.counters) ? then : otherwise;
    }
    return found;
  }

  /** The options of a decision: their place in it, and their nodes. @param {number} node @param {Position} at */
  options(node, at) {
    const found = [];
    for (const [place, child] of this.below(node).entries()) {
      const option = this.settled(child, at);
      const moves = option >= 0 && (this.kind[option] === GO || this.kind[option] === PASS);
      if (option >= 0 && !(moves && !this.moved(option, at))) found.push({ place, node: option });
    }
    return found;
  }

  /** Whether less is better for who decides. @param {number} node */
  wantsLess(node) {
    return (this.numbers[0][node] === 1) !== this.minimises;
  }

  /** What a position is worth to who is to move. @param {Position} at @returns {number} */
  value(at) {
    const kept = this.kept.at(at.state, at.index, this.points);
    return Number.isNaN(kept) ? this.worth(this.roots[at.state], at, ++this.stamp) : kept;
  }

  /**
   * What a node is worth; what was found at this position before is remembered by its stamp.
   * @param {number} node @param {Position} at @param {number} stamp @returns {number}
   */
  worth(node, at, stamp = ++this.stamp) {
    if (this.stamps[node] === stamp) return this.worths[node];
    const [a, b, c] = [this.numbers[0][node], this.numbers[1][node], this.numbers[2][node]];
    let found = 0;
    switch (this.kind[node]) {
      case END:
        found = this.number(a, at);
        break;
      case DECIDE: {
        const less = this.wantsLess(node);
        found = less ? Infinity : -Infinity;
        for (const option of this.options(node, at)) {
          const worth = this.worth(option.node, at, stamp);
          if (less ? worth < found : worth > found) found = worth;
        }
        break;
      }
      case CHANCE: {
        const { chances } = this.throws[a];
        found = this.number(b, at);
        this.below(node).forEach((child, i) => (found += chances[i] * this.worth(child, at, stamp)));
        break;
      }
      case WHEN:
        found = this.worth(this.settled(node, at), at, stamp);
        break;
      default: {
        const to = this.moved(node, at);
        if (!to) throw new Error("this move is not there");
        const stays = to.index === at.index && Number.isNaN(this.kept.at(to.state, to.index, this.points));
        const ahead = stays ? this.worth(this.roots[to.state], to, stamp) : this.value(to);
        found = this.number(c, at) + (this.kind[node] === PASS ? this.data.total - ahead : ahead);
      }
    }
    this.stamps[node] = stamp;
    this.worths[node] = found;
    return found;
  }
}

/** Where the parts of a list begin, from their lengths. @param {Int32Array} sizes */
function starts(sizes) {
  const found = new Int32Array(sizes.length + 1);
  sizes.forEach((size, i) => (found[i + 1] = found[i] + size));
  return found;
}
