// The page: everything seen, heard, typed and pressed. It shows what game.js
// accepted, and leaves the box, the focus and the scroll where the reader has
// them. Texts enter the document as text nodes only; the words are index.html's.

import { Game, Problem } from './game.js';

const SLOW_MS = 400; // a move that takes longer is said to be under way
const NEAR_TURNS = 8; // always laid out; older ones only when they come near
const SPEECH_MS = 10_000; // how long a reply stays where screen readers hear it
const NEAR_PX = 48; // how far below the view still counts as being at the end
const FADE_PX = 28; // above the box, where the story fades out

const element = (id) => document.getElementById(id);
const bar = element('bar');
const start = element('start');
const begin = element('begin');
const turns = element('turns');
const notice = element('notice');
const offers = element('offers');
const form = element('form');
const box = element('box');
const send = element('send');
const jump = element('jump');
const ask = element('ask');
const words = element('words').content;

const name = document.title;
const touch = matchMedia('(pointer: coarse)');
const reducedMotion = matchMedia('(prefers-reduced-motion: reduce)');

const game = new Game();

function word(key, n = '') {
  return words.querySelector(`[data-word="${key}"]`).textContent.replace('{n}', () => n);
}

function make(tag, className, ...children) {
  const made = document.createElement(tag);
  made.className = className;
  made.append(...children);
  return made;
}

// Moves. Nothing but a notice changes unless the move was accepted.

function beginGame() {
  carry(game.begin(), () => {
    turns.replaceChildren();
    box.value = '';
    showGame();
    scrollTo(0, 0);
  });
}

function play(move) {
  if (game.busy) return;
  carry(game.play(move), (turn) => {
    // What was typed while the reply was on its way is a new draft.
    if (move.typed === box.value) box.value = '';
    const follow = atEnd();
    const shown = showTurn(turn, game.record.first + game.record.turns.length - 1);
    shown.classList.add('new');
    while (turns.childElementCount > game.record.turns.length) turns.firstElementChild.remove();
    showOffers();
    if (follow) bringUp(shown);
    else offerJump(shown, 'new-reply');
  });
}

async function carry(move, show) {
  setBusy(true);
  let turn;
  try {
    turn = await move;
  } catch (problem) {
    setBusy(false);
    if (!(problem instanceof Problem)) throw problem;
    showProblem(problem);
    return;
  }
  if (turn === null) return; // a later move has taken its place
  setBusy(false);
  notice.hidden = true;
  endJump();
  element('status').replaceChildren();
  show(turn);
  showSaving();
  speak(turn.text || word('no-text'));
  // On a touch screen the box would bring up the keyboard. A selection is left alone.
  if (!touch.matches && getSelection().isCollapsed) (form.hidden ? element('again') : box).focus({ preventScroll: true });
}

let slowTimer = 0;

function setBusy(busy) {
  clearTimeout(slowTimer);
  delete document.body.dataset.busy;
  // Not disabled: that would lose the focus.
  for (const button of [send, begin, ...offers.querySelectorAll('button')]) button.setAttribute('aria-disabled', busy);
  if (!busy) return;
  document.body.dataset.busy = 'now';
  slowTimer = setTimeout(() => {
    document.body.dataset.busy = 'slow';
    say(word('sending'));
  }, SLOW_MS);
}

// What is seen.

function showGame() {
  start.hidden = true;
  bar.hidden = false;
  game.record.turns.forEach((turn, i) => showTurn(turn, game.record.first + i));
  showOffers();
  linkManifest();
}

// linkManifest lets the page be kept as an app. Only who plays wants that, so
// the first visit is spared the request.
function linkManifest() {
  if (document.querySelector('link[rel=manifest]')) return;
  const link = make('link', '');
  link.rel = 'manifest';
  link.href = new URL('manifest.webmanifest', import.meta.url);
  document.head.append(link);
}

function showTurn({ echo, text }, number) {
  const count = number === 0 ? word('opening') : word('turn', number);
  const heading = echo === ''
    ? make('h2', 'unseen', count)
    : make('h2', 'echo', make('span', 'unseen', count), make('span', 'typed', echo));
  const turn = make('section', 'turn', heading, ...paragraphs(text));
  turns.append(turn);
  turns.children[turns.childElementCount - 1 - NEAR_TURNS]?.classList.add('past');
  return turn;
}

// paragraphs makes one of each line of a reply.
function paragraphs(text) {
  const parts = text.split(/[\r\n]+/).map((part) => part.trimEnd()).filter(Boolean);
  if (parts.length === 0) parts.push(word('no-text'));
  return parts.map((part) => make('p', '', part));
}

function showOffers() {
  const { place, choices, places, end } = game.record;
  element('place').textContent = place;
  document.title = place ? word('title', place) : name;
  showButtons(element('choices'), choices);
  showButtons(element('places'), places);
  offers.hidden = choices.length + places.length === 0;
  element('ending').hidden = !end;
  form.hidden = element('skip').hidden = end; // there is nothing more to say
}

function showButtons(group, list) {
  group.hidden = list.length === 0;
  group.querySelector('.buttons').replaceChildren(...list.map(({ label, kind, input }) => {
    const button = make('button', 'offer', label);
    button.type = 'button';
    button.addEventListener('click', () => {
      if (!keyHeld) play({ kind, input, echo: label });
    });
    return button;
  }));
}

function showProblem({ reason, text }) {
  const follow = atEnd();
  const stuck = reason === 'unreadable';
  const message = (reason === 'rejected' && text) || word(reason);
  notice.dataset.reason = reason;
  element('notice-text').textContent = message;
  element('notice-detail').textContent = reason === 'unreadable' ? text : ''; // the engine's own words
  element('notice-kept').hidden = !(stuck && (game.record || reason === 'unreadable'));
  element('notice-restart').hidden = !(stuck && game.record);
  notice.hidden = false;
  say(message);
  if (follow) bringIn(notice);
  else offerJump(notice, 'new-notice');
}

function showSaving() {
  const warning = element('warning');
  const message = game.saved === 'saved' ? '' : word(game.saved);
  if (message !== warning.textContent) say(message);
  warning.textContent = message;
  warning.hidden = message === '';
}

// What is heard. Both regions stand empty in the page from the start. A new node
// each time, so that the same text is read again.

function say(message) {
  element('status').replaceChildren(make('p', '', message));
}

function speak(text) {
  const spoken = make('p', '', text);
  element('speech').append(spoken);
  setTimeout(() => spoken.remove(), SPEECH_MS);
}

// Scrolling: forward only, and only for a reader who was at the end.

// The rule above a turn comes to lie on the bar's own.
function viewTop() {
  return Math.max(0, bar.getBoundingClientRect().bottom - 1);
}

function viewBottom() {
  return form.hidden ? innerHeight : Math.min(innerHeight, form.getBoundingClientRect().top);
}

function atEnd() {
  const last = notice.hidden ? turns.lastElementChild : notice;
  return !last || last.getBoundingClientRect().bottom <= viewBottom() + NEAR_PX;
}

// bringUp brings the start of a turn under the bar, as far as the page is long.
function bringUp(turn) {
  scrollDown(turn.getBoundingClientRect().top - viewTop());
}

// bringIn brings the whole of something short into view.
function bringIn(part) {
  scrollDown(part.getBoundingClientRect().bottom - viewBottom() + FADE_PX);
}

function scrollDown(top) {
  if (top > 0) scrollBy({ top, behavior: reducedMotion.matches ? 'instant' : 'smooth' });
}

let jumpTarget = null;
const seen = new IntersectionObserver((entries) => {
  if (entries.some((entry) => entry.isIntersecting)) endJump();
});

function offerJump(target, key) {
  endJump();
  jumpTarget = target;
  jump.textContent = word(key);
  jump.hidden = false;
  seen.observe(target);
}

function endJump() {
  seen.disconnect();
  jump.hidden = true;
}

jump.addEventListener('click', () => {
  endJump();
  bringUp(jumpTarget);
});

// The box. Enter is the form's own business: with an input method it must not
// send, and the browser knows best which Enter was which.

let composing = false; // whether an input method is at work in the box
let keyHeld = false; // whether the last key is repeating; a held Enter sends once

box.addEventListener('compositionstart', () => {
  composing = true;
});
box.addEventListener('compositionend', () => {
  setTimeout(() => {
    composing = false;
  });
});
document.addEventListener('keydown', (event) => {
  keyHeld = event.repeat;
}, true);
document.addEventListener('keyup', () => {
  keyHeld = false;
}, true);
document.addEventListener('pointerdown', () => {
  keyHeld = false;
}, true);

// The button must not take the focus, and with it a phone's keyboard, from the box.
send.addEventListener('mousedown', (event) => event.preventDefault());
send.addEventListener('pointerdown', () => {
  composing = false;
});

form.addEventListener('submit', (event) => {
  event.preventDefault();
  // Phones keep a composition open while one types, so there it proves nothing.
  if (keyHeld || (composing && !touch.matches)) return;
  const input = box.value.replace(/[\u0000-\u001f\u007f]/g, ' ').trim();
  if (input !== '') play({ kind: 'say', input, echo: input, typed: box.value });
});

// Beginning, and beginning anew, which asks first.

begin.addEventListener('click', () => {
  if (!keyHeld && !game.busy && !('restart' in begin.dataset)) beginGame();
});

document.addEventListener('click', (event) => {
  if (!event.target.closest('[data-restart]')) return;
  ask.returnValue = '';
  ask.showModal();
});

ask.addEventListener('close', () => {
  if (ask.returnValue === 'restart') beginGame();
});

element('skip').addEventListener('click', (event) => {
  event.preventDefault(); // the address stays as it is
  box.focus();
});

// Coming and going.

document.addEventListener('visibilitychange', () => {
  if (document.hidden) game.keepDraft(box.value);
});
addEventListener('pagehide', () => {
  game.abandon();
  setBusy(false);
});
addEventListener('pageshow', (event) => {
  if (event.persisted && game.movedElsewhere()) location.reload();
});
addEventListener('storage', () => {
  if (!game.record || !game.movedElsewhere()) return;
  game.saved = 'elsewhere';
  showSaving();
});

history.scrollRestoration = 'manual';
element('loading').remove();
try {
  game.load();
} catch (problem) {
  begin.dataset.restart = '';
  begin.querySelector('.idle').textContent = element('restart').textContent;
  showProblem(problem);
}
if (game.record) {
  showGame();
  box.value = game.record.draft;
  scrollTo(0, turns.lastElementChild.getBoundingClientRect().top - viewTop());
  if (!touch.matches) box.focus({ preventScroll: true });
} else {
  start.hidden = false;
}
