// @ts-check
/** The keyboard: every key does what a button on the page does. */

import { byId } from "./dom.js";

/** @import { Taps } from "./taps.js" */
/** What the keys need of the page.
 * @typedef {{mode: string, taps: Taps | null, advise: (mode: string) => void, draw: () => void}} Keyed */

/** @param {Keyed} page */
export function listenToKeys(page) {
  document.addEventListener("keydown", (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    const writes = target.matches("select, textarea, input:not([type=radio]):not([type=checkbox])");
    if (writes || event.ctrlKey || event.altKey || event.metaKey) return;
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

/** Do what a key means; whether it means anything here.
 * @param {Keyed} page @param {KeyboardEvent} event @param {HTMLElement} target */
function pressed(page, event, target) {
  const digit = /^(?:Digit|Numpad)([0-9])$/.exec(event.code)?.[1] ?? (/^[0-9]$/.test(event.key) ? event.key : null);
  if (digit && event.shiftKey) return clicked(document.querySelectorAll("#match .tappable")[Number(digit) - 1]);
  if (digit) return clicked(document.querySelector(`#now [data-number="${digit}"]`));
  switch (event.key) {
    case "Enter":
      if (target.matches("#now .choice, .main, .plain, summary")) return false;
      return clicked(document.querySelector('#now .meant, #now [data-key="thrown"]:enabled'));
    case "Escape":
      page.taps?.clear();
      page.draw();
      return true;
    case "a":
      page.advise(page.mode === "always" ? "off" : "always");
      return true;
    case "Backspace":
      return clicked(document.querySelector('#now [data-key="back"]:enabled'));
    case "u":
      return clicked(byId("undo"));
    case "n":
      return clicked(document.querySelector("#end .main"));
    default:
      return false;
  }
}

/** @param {Element | null | undefined} pressable */
function clicked(pressable) {
  if (pressable instanceof HTMLElement) pressable.click();
  return pressable instanceof HTMLElement;
}
