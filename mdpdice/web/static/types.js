// @ts-check
/**
 * What page and engine say to each other, as plain JSON: the engine in a file and the one of a server alike.
 *
 * Something on the table: `kind` is "dice" | "tokens" | "grid" | "score" | "boxes" | "note", or to come; `seat` says
 * whose it is.  Dice: `faces`, names of weighted ones in `dice`, places of those set aside in `held`.  Tokens: `items`,
 * and the places that are there in `lit` (null: all).  Grid: `rows`, and numbers below its columns in `foot`.  Score:
 * `value`, `goal`, may it be lost in `risk`.  Boxes: `names`, `used`, and what each one brought in `points`.
 * @typedef {{kind: string, label: string, of: null | 0 | 1 | "mover" | "other", seat?: number | null, faces?: Face[],
 *   dice?: string[], held?: number[], items?: Face[], lit?: number[] | null, rows?: Face[][], foot?: number[],
 *   value?: number, goal?: number | null, risk?: boolean, names?: string[], used?: boolean[],
 *   points?: (number | null)[], text?: string}} Part
 * @typedef {string | number} Face
 * @typedef {{label: string, places: number[][]}} Tap   sets of places of a part, each of which means the action
 * @typedef {{words: string, tap: Tap | null, pays?: number | null}} Choice
 * @typedef {{words: string, chance: string, faces: Face[] | null}} Outcome
 * @typedef {{name: string, faces: Face[]}} OwnDie
 * @typedef {{kind: string, seat: number | null, words: string, lost?: boolean, faces?: Face[] | null}} PlayEvent
 *
 * A match as it stands.  `total` 1: values are chances to win.  `round` counts from 1; `scores` are those of the rounds
 * that are over, by seat.  `outcomes` or `dice`: own dice are waited for.  `events`: all that happened in this round.
 * @typedef {{id?: string, turn: number, game: string, title: string, sense: "max" | "min", total?: number | null,
 *   seats: string[], names?: string[] | null, round: number, rounds: number, scores: number[][], mover: number | null,
 *   may_undo?: boolean, parts: Part[], actions: Choice[], outcomes: Outcome[] | null, dice: OwnDie[] | null,
 *   events: PlayEvent[], over: {payoff: number | null, words: string} | null}} View
 *
 * @typedef {{i: number, words: string, value: number, loss: number, best: boolean,
 *   goals?: Record<string, number> | null}} Advice
 * @typedef {{turn: number, seat: number, words: string, best_words: string, loss: number}} Decision
 * @typedef {{decisions: Decision[], lost: number[]}} Review
 * @typedef {{kind: "map", title: string, names: string[], cells: (number | null)[][], at: number[] | null,
 *   x: {label: string, values: number[]}, y: {label: string, values: number[]}}} MapChart
 * @typedef {{kind: "table", title: string, columns: string[], rows: (Face | null)[][], at: number | null}} TableChart
 * @typedef {{totals: number[], chances: number[], mean: number, goals?: Record<string, number> | null,
 *   plays?: number, error?: number}} Distribution   in order; with drawn plays, the standard error of the mean
 *
 * @typedef {{name: string, kind: string, value: unknown, choices?: string[] | null, help?: string | null}} Parameter
 * @typedef {{name: string, title: string, description?: string, players: number, seats: string[], free?: boolean,
 *   parameters: Parameter[]}} GameSetup
 * @typedef {{game: string, parameters: Record<string, unknown>, seats: string[], rounds: number,
 *   dice: "drawn" | "mine", seed: number | null}} Start
 * @typedef {{games: GameSetup[], auto?: Start | null}} Setup
 *
 * An engine; `progress` is set by the page and told what is waited for, and `cancel` stops that.
 * @typedef {{setup: () => Promise<Setup>, start: (start: Start) => Promise<View>,
 *   choose: (i: number) => Promise<View>, roll: (outcome: number | Face[]) => Promise<View>, undo: () => Promise<View>,
 *   again: () => Promise<View>, advice: () => Promise<Advice[]>, review: () => Promise<Review>,
 *   record: () => Promise<string>, about: () => Promise<Record<string, unknown>>,
 *   boxes?: () => Promise<Record<string, (number | null)[]> | null>, distribution?: () => Promise<Distribution | null>,
 *   chart?: (open: boolean) => Promise<(MapChart | TableChart)[] | null>,
 *   progress?: ((text: string, share: number | null) => void) | null, cancel?: () => void}} Engine
 */

export {};
