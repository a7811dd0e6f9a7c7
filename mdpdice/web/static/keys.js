// @ts-check
/** The keyboard: every key does what a button on the page does. */

import { byId } from "./dom.js";

/**
 * What the keys need of the page.
 * @typedef {object} Keyed
 * @property {string} mode
 * @property {import("./taps.js").Taps | null} taps
 * @property {(mode: string) => void} advise
 * @property {() => void} undo
 * @property {() => void} draw
 */

/** @param {Keyed} page */
export function listenToKeys(page) {
  document.addEventListener("keydown", (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    const types = target.matches("select, textarea, input:not([type=radio]):not([type=checkbox])");
    if (types || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === "?") showKeys();
    else if (byId("match").hidden || !pressed(page, event, target)) return;
    event.preventDefault();
  });
}

function showKeys() {
  const keys = /** @type {HTMLDetailsElement} */ (byId("keys"));
  keys.open = !keys.open;
  keys.querySelector("summary")?.focus();
}

/**
 * Do what a key means; whether it means anything here.
 * @param {Keyed} page
 * @param {KeyboardEvent} event
 * @param {HTMLElement} target
 */
function pressed(page, event, target) {
  const digit = /^(?:Digit|Numpad)([0-9])$/.exec(event.code)?.[1] ?? (/^[0-9]$/.test(event.key) ? event.key : null);
  if (digit && event.shiftKey) return clicked(document.querySelectorAll("#match .tappable.place")[Number(digit) - 1]);
  if (digit) return clicked(document.querySelector(`#now [data-number="${digit}"], #now [data-face="${digit}"]`));
  if (event.key === "Enter") {
    const first =
      document.querySelector("#now .choice.meant") ?? document.querySelector('#now [data-key="thrown"]:enabled');
    return Boolean(first) && !target.matches("#now .choice, #now .main, summary, .plain") && clicked(first);
  }
  if (event.key === "Backspace") return clicked(document.querySelector('#now [data-key="back"]:enabled'));
  if (event.key === "Escape" && page.taps?.part) {
    page.taps.clear();
    page.draw();
  } else if (event.key === "u") clicked(byId("undo"));
  else if (event.key === "a") page.advise(page.mode === "always" ? "off" : "always");
  else if (event.key === "n") return clicked(document.querySelector("#end #next"));
  else return false;
  return true;
}

/** @param {Element | null | undefined} button */
function clicked(button) {
  if (button instanceof HTMLElement) button.click();
  return button instanceof HTMLElement;
}
