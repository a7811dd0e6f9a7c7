// @ts-check
/** What tapping means: which places may be tapped now, and which actions the tapped ones mean. */

/** @import { Part, View } from "./types.js" */

/** The part that a tap means: of the player to move, where both have one of this name.
 * @param {View} view @param {string} label @returns {Part | undefined} */
export function tappedPart(view, label) {
  const named = view.parts.filter((part) => part.label === label && part.kind !== "score" && part.kind !== "note");
  return named.find((part) => ownerOf(part) === view.mover) ?? named[0];
}

/** The seat whose a part is. @param {Part} part */
export const ownerOf = (part) => part.seat ?? (typeof part.of === "number" ? part.of : null);

/** Dice and tokens are gathered one by one; a place of any other part is an action at once. @param {Part} part */
export const gathers = (part) => part.kind === "dice" || part.kind === "tokens";

/** What has been tapped at one decision. */
export class Taps {
  /** @param {View} view */
  constructor(view) {
    this.view = view;
    this.part = /** @type {Part | null} */ (null);
    this.chosen = /** @type {Set<number>} */ (new Set());
  }

  /** What lies at the places of a part that mean an action, for each. @param {Part} part */
  sets(part) {
    const { view } = this;
    const sets = view.actions.flatMap(({ tap }) => (tap && tappedPart(view, tap.label) === part ? tap.places : []));
    return sets.map((places) => contents(part, places));
  }

  /** Places that may be tapped now: those that lead to an action, and those to be let go. @param {Part} part */
  allowed(part) {
    const sets = this.sets(part);
    const chosen = part === this.part && gathers(part) ? [...this.chosen] : [];
    const leads = (/** @type {number} */ place) => sets.some((set) => within(contents(part, [...chosen, place]), set));
    const things = part.faces ?? part.items ?? part.names ?? part.rows?.[0] ?? [];
    return new Set([...things.keys()].filter((place) => chosen.includes(place) || leads(place)));
  }

  /** Tap a place, or let it go.  Where that was an action and no longer is one, what depended on the place goes too.
   * @param {Part} part @param {number} place */
  toggle(part, place) {
    if (part !== this.part) this.clear();
    this.part = part;
    if (!gathers(part)) this.chosen = new Set([place]);
    else if (!this.chosen.has(place)) this.chosen.add(place);
    else {
      const meant = this.matches().length > 0;
      this.chosen.delete(place);
      if (meant && !this.matches().length) this.chosen = new Set(this.largest(part));
    }
    if (!this.chosen.size) this.part = null;
  }

  clear() {
    this.part = null;
    this.chosen.clear();
  }

  /** As many of the tapped places as make an action. @param {Part} part */
  largest(part) {
    const chosen = [...this.chosen];
    const found = this.sets(part).filter((set) => within(set, contents(part, chosen)));
    const wanted = found.sort((a, b) => b.length - a.length)[0] ?? [];
    return chosen.filter((place) => {
      const at = wanted.indexOf(contents(part, [place])[0]);
      if (at >= 0) wanted.splice(at, 1);
      return at >= 0;
    });
  }

  /** The numbers of the actions that the tapped places mean. @returns {number[]} */
  matches() {
    const { part, view } = this;
    if (!part) return [];
    const wanted = contents(part, [...this.chosen]).join();
    return [...view.actions.keys()].filter((i) => {
      const { tap } = view.actions[i];
      const here = tap && tappedPart(view, tap.label) === part;
      return here && tap.places.some((set) => contents(part, set).join() === wanted);
    });
  }
}

/** What lies at some places, in order: two dice of one name and face are the same.
 * @param {Part} part @param {number[]} places */
function contents({ faces, items, dice }, places) {
  return places.map((at) => (faces ? `${faces[at]} ${dice?.[at] ?? ""}` : items ? `${items[at]}` : `${at}`)).sort();
}

/** Whether one sorted list is part of another. @param {string[]} few @param {string[]} many */
function within(few, many) {
  let at = 0;
  for (const one of many) if (one === few[at]) at++;
  return at === few.length;
}
