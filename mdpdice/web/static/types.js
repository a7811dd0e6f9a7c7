// @ts-check
/**
 * What page and engine say to each other, as plain JSON: the engine in a file and the one behind a server say the same.
 *
 * @typedef {object} Part                 something on the table
 * @property {string} kind                "dice" | "tokens" | "grid" | "score" | "boxes" | "note", or a kind to come
 * @property {string} label
 * @property {null | 0 | 1 | "mover" | "other"} of
 * @property {number | null} [seat]       whose it is
 * @property {(string | number)[]} [faces]      dice
 * @property {string[]} [dice]            dice: names of weighted ones
 * @property {number[]} [held]            dice: places of those set aside
 * @property {(string | number)[]} [items]      tokens
 * @property {number[] | null} [lit]      tokens: places of those that are there, null: all
 * @property {(string | number)[][]} [rows]     grid
 * @property {number[]} [foot]            grid: numbers below its columns
 * @property {number} [value]             score
 * @property {number | null} [goal]       score
 * @property {boolean} [risk]             score: may it be lost
 * @property {string[]} [names]           boxes
 * @property {boolean[]} [used]           boxes
 * @property {(number | null)[]} [points] boxes: what each one brought
 * @property {string} [text]              note
 *
 * @typedef {{label: string, places: number[][]}} Tap   sets of places of a part, each of which means the action
 * @typedef {{words: string, tap: Tap | null, pays?: number | null}} Choice
 * @typedef {{words: string, chance: string, faces: (string | number)[] | null}} Outcome
 * @typedef {{name: string, faces: (string | number)[]}} OwnDie
 * @typedef {{kind: string, seat: number | null, words: string, lost?: boolean,
 *   faces?: (string | number)[] | null}} PlayEvent
 *
 * @typedef {object} View
 * @property {string} [id]
 * @property {number} turn                events so far
 * @property {string} game
 * @property {string} title
 * @property {"max" | "min"} sense
 * @property {number | null} [total]      1: values are chances to win
 * @property {string[]} seats
 * @property {string[]} [names]
 * @property {number} round               from 1 on
 * @property {number} rounds
 * @property {number[][]} scores          of the rounds that are over, by seat
 * @property {number | null} mover
 * @property {boolean} [may_undo]
 * @property {Part[]} parts
 * @property {Choice[]} actions
 * @property {Outcome[] | null} outcomes
 * @property {OwnDie[] | null} dice
 * @property {PlayEvent[]} events
 * @property {{payoff: number | null, words: string} | null} over
 *
 * @typedef {{i: number, words: string, value: number, loss: number, best: boolean,
 *     goals?: Record<string, number> | null}} Advice
 * @typedef {{turn: number, seat: number, words: string, best_words: string, loss: number}} Decision
 * @typedef {{decisions: Decision[], lost: number[]}} Review
 * @typedef {{kind: "map", title: string, names: string[], cells: (number | null)[][], at: number[] | null,
 *     x: {label: string, values: number[]}, y: {label: string, values: number[]}}} MapChart
 * @typedef {{kind: "table", title: string, columns: string[], rows: (string | number | null)[][],
 *     at: number | null}} TableChart
 * @typedef {{totals: number[], chances: number[], mean: number}} Distribution
 * @typedef {Record<string, unknown>} About
 *
 * @typedef {{name: string, kind: string, value: unknown, choices?: string[] | null, help?: string | null}} Parameter
 * @typedef {{name: string, title: string, description?: string, players: number, own: boolean, seats: string[],
 *     free?: boolean, parameters: Parameter[]}} GameSetup
 * @typedef {{game: string, parameters: Record<string, unknown>, seats: string[], rounds: number,
 *     dice: "drawn" | "mine", seed: number | null}} Start
 * @typedef {{games: GameSetup[], dice?: "drawn" | "mine", auto?: Start | null}} Setup
 *
 * @typedef {object} Engine
 * @property {() => Promise<Setup>} setup
 * @property {(start: Start) => Promise<View>} start
 * @property {((text: string, share: number | null) => void) | null} [progress]   set by the page: what is waited for
 * @property {() => void} [cancel]        stops what takes long
 * @property {() => Promise<View>} view
 * @property {(i: number) => Promise<View>} choose
 * @property {(outcome: number | (string | number)[]) => Promise<View>} roll
 * @property {() => Promise<View>} undo
 * @property {() => Promise<View>} again  the next round
 * @property {() => Promise<Advice[]>} advice
 * @property {() => Promise<Review>} review
 * @property {() => Promise<string>} record
 * @property {() => Promise<About>} about
 * @property {() => Promise<Record<string, (number | null)[]> | null>} [boxes]
 * @property {() => Promise<(MapChart | TableChart)[] | null>} [chart]
 * @property {() => Promise<Distribution | null>} [distribution]
 */

export {};
