// @ts-check
/** The keyboard: every key does what a button on the page does. */

import { byId } from "./dom.js";

/** @import { Page } from "./page.js" */

/** Keys that press one thing. @type {Record<string, string>} */
const PRESSES = { Backspace: '#now [data-key="back"]:enabled', u: "#undo", n: "#end .main", "?": "#keys summary" };

/** @param {Page} page */
export function listenToKeys(page) {
  document.addEventListener("keydown", (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    const writes = target.matches("select, textarea, input:not([type=radio]):not([type=checkbox])");
    if (writes || event.ctrlKey || event.altKey || event.metaKey) return;
    if (byId("match").hidden && event.key !== "?") return;
    if (pressed(page, event, target)) event.preventDefault();
  });
}

/** Do what a key means; whether it means anything here.
 * @param {Page} page @param {KeyboardEvent} event @param {HTMLElement} target */
function pressed(page, event, target) {
  const digit = /^(?:Digit|Numpad)([0-9])$/.exec(event.code)?.[1] ?? (/^[0-9]$/.test(event.key) ? event.key : null);
  if (digit && event.shiftKey) return clicked(document.querySelectorAll("#match .tappable")[Number(digit) - 1]);
  if (digit) return clicked(document.querySelector(`#now [data-number="${digit}"]`));
  if (event.key === "Enter") {
    if (target.matches("#now .choice, .main, .plain, summary")) return false;
    return clicked(document.querySelector('#now .meant, #now [data-key="thrown"]:enabled'));
  }
  if (event.key === "a") page.advise(page.mode === "always" ? "off" : "always");
  else if (event.key === "Escape") page.letGo();
  else return event.key in PRESSES && clicked(document.querySelector(PRESSES[event.key]));
  return true;
}

/** @param {Element | null | undefined} pressable */
function clicked(pressable) {
  if (pressable instanceof HTMLElement) {
    pressable.click();
    if (pressable.matches("summary")) pressable.focus();
  }
  return pressable instanceof HTMLElement;
}
