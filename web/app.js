// The page: the game and all that is seen, heard, typed and pressed of it. A move
// changes nothing but a notice until the server has accepted it; then the record,
// the page and the save change together. The box, the focus and the scroll stay
// where the reader has them. Texts enter the document as text nodes only; the
// words are index.html's. What stands behind the menu is in menu.js, which comes
// once it may be wanted.

const MOVE_MS = 10_000; // after that a move counts as lost; sending it again is safe
const MAX_TURNS = 2000; // turns kept; the oldest go first
const MAX_ERROR = 500; // characters shown of an engine's own error text
const SLOW_MS = 400; // a move that takes longer is said to be under way
const NEAR_TURNS = 8; // always laid out; older ones only when they come near
const SPEECH_MS = 10_000; // how long a reply stays where screen readers hear it
const NEAR_PX = 48; // how far below the view still counts as being at the end
const FADE_PX = 28; // above the box, where the story fades out

export const element = (id) => document.getElementById(id);
const bar = element('bar');
const start = element('start');
const begin = element('begin');
const turns = element('turns');
const notice = element('notice');
const offers = element('offers');
const undo = element('undo');
const dock = element('dock');
const form = element('form');
const box = element('box');
const send = element('send');
const jump = element('jump');
const ask = element('ask');
const words = element('words').content;

export const title = document.title;
const touch = matchMedia('(pointer: coarse)');
const reducedMotion = matchMedia('(prefers-reduced-motion: reduce)');

export function word(key, n = '') {
  return words.querySelector(`[data-word="${key}"]`).textContent.replace('{n}', () => n);
}

export function make(tag, className, ...children) {
  const made = document.createElement(tag);
  made.className = className;
  made.append(...children);
  return made;
}

// The game without the page.

// A Problem is why a move was not accepted. Its reason is one of: busy, offline,
// slow, stumbled, down, failed, refused, rejected, poison, unreadable; text is the
// engine's own, if it gave one.
class Problem extends Error {
  constructor(reason, text = '') {
    super(reason);
    this.reason = reason;
    this.text = text;
  }
}

// A Game owns the record (shelf.js says what is in it; null until a game has
// begun) and the one move that may be under way.
class Game {
  record = null;
  saved = 'saved'; // or shortened, not-saved, or elsewhere: another tab has written since
  #flight = null; // of the move under way; a reply to any other is dropped

  // load takes up the saved game. It throws a Problem if there is a save that
  // cannot be read; the save stays until another game has begun.
  load() {
    const { text, record } = shelf.read();
    if (text !== null && record === null) throw new Problem('unreadable');
    this.record = record;
  }

  get busy() {
    return this.#flight !== null;
  }

  get torn() {
    return this.saved === 'elsewhere';
  }

  // begin starts a game anew and resolves to its opening turn.
  begin() {
    const browserId = this.record?.browserId ?? `b-${shelf.randomId()}`;
    return this.#send('/api/new', { browserId }, (reply) => {
      const turn = { echo: '', text: textOf(reply), typed: false };
      this.replace({ format: shelf.FORMAT, browserId, state: reply.state, ...shelf.offersOf(reply), first: 0, turns: [turn], undo: [], draft: '' });
      return turn;
    });
  }

  // play makes one move and resolves to its turn. echo is how the move reads in
  // the story, and typed whether the player wrote it.
  play({ kind, input, echo, typed }) {
    const { state, browserId } = this.record;
    return this.#send('/api/turn', { kind, input, state, browserId }, (reply) => {
      const { record } = this;
      const turn = { echo, text: textOf(reply), typed };
      const before = { state: record.state, ...shelf.offersOf(record) };
      this.record = {
        ...record,
        ...shelf.latest({ ...record, turns: [...record.turns, turn] }, MAX_TURNS),
        ...shelf.offersOf(reply),
        state: reply.state === undefined ? state : reply.state,
        undo: [...record.undo, before].slice(-shelf.MAX_UNDO),
        draft: '',
      };
      this.save();
      if (!this.torn) shelf.forget();
      return turn;
    });
  }

  // undo takes the last move back and returns its turn.
  undo() {
    const { record } = this;
    const turn = record.turns.at(-1);
    this.record = { ...record, ...record.undo.at(-1), turns: record.turns.slice(0, -1), undo: record.undo.slice(0, -1) };
    this.save();
    return turn;
  }

  // replace puts another game in this one's place, which is set aside.
  replace(record) {
    this.abandon();
    if (!shelf.changed()) shelf.setAside(this.record);
    this.record = record;
    this.save();
  }

  // takeBack puts the game that was set aside in its place again.
  takeBack() {
    this.abandon();
    this.record = shelf.takeBack();
    if (this.record !== null) this.keepThis();
  }

  // abandon gives up the move under way; whatever becomes of it is dropped.
  abandon() {
    this.#flight?.abort();
    this.#flight = null;
  }

  // keepDraft saves what stands in the box.
  keepDraft(draft) {
    if (this.record === null || this.record.draft === draft) return;
    this.record.draft = draft;
    this.save();
  }

  save() {
    this.saved = shelf.write(this.record);
  }

  // keepThis saves this tab's game in place of what another tab has written.
  keepThis() {
    shelf.read();
    this.save();
  }

  // #send resolves to what accept makes of the reply, or to null if a later move
  // has taken this one's place; it throws a Problem if the move was not accepted.
  async #send(path, move, accept) {
    this.abandon();
    const flight = new AbortController();
    this.#flight = flight;
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      flight.abort();
    }, MOVE_MS);
    try {
      const reply = await post(path, move, flight.signal);
      if (this.#flight !== flight) return null;
      return accept(reply);
    } catch (error) {
      if (this.#flight !== flight) return null;
      if (error instanceof Problem) throw error;
      if (timedOut) throw new Problem('slow');
      throw new Problem(navigator.onLine ? 'failed' : 'offline');
    } finally {
      clearTimeout(timer);
      if (this.#flight === flight) this.#flight = null;
    }
  }
}

async function post(path, move, signal) {
  const response = await fetch(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(move),
    signal,
  });
  const body = shelf.parse(await response.text());
  if (response.ok && shelf.isObject(body)) return body;
  const text = response.status === 422 && typeof body?.error === 'string' ? body.error : '';
  throw new Problem(reasonOf(response.status, body?.code), text.slice(0, MAX_ERROR));
}

function reasonOf(status, code) {
  switch (status) {
    case 400:
    case 422:
      if (code === 'poison_move') return 'poison';
      if (String(code).includes('state')) return 'unreadable';
      return status === 422 ? 'rejected' : 'refused';
    case 413: // only the state can have grown so large
      return 'unreadable';
    case 429:
      return 'busy';
    case 502:
      return 'stumbled';
    case 503:
      return 'down';
    case 504:
      return 'slow';
  }
  return status >= 400 && status < 500 ? 'refused' : 'failed';
}

function textOf(reply) {
  return typeof reply.text === 'string' ? reply.text : '';
}

export const game = new Game();

// Moves.

function beginGame() {
  carry(game.begin(), () => {
    box.value = '';
    showGame();
    scrollTo(0, 0);
  });
}

function play(move, button) {
  if (heldByTorn() || game.busy) return;
  button?.classList.add('sent');
  carry(game.play(move), (turn) => {
    // What was typed while the reply was on its way is a new draft.
    if (move.inBox === box.value) box.value = '';
    recall.end();
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
  showBusy();
  let turn;
  try {
    turn = await move;
  } catch (problem) {
    showBusy();
    if (!(problem instanceof Problem)) throw problem;
    showProblem(problem);
    return;
  }
  if (turn === null) return; // a later move has taken its place
  showBusy();
  quiet();
  show(turn);
  showSaving();
  speak(turn.text || word('no-text'));
  // On a touch screen the box would bring up the keyboard. A selection is left alone.
  if (!touch.matches && getSelection().isCollapsed) focusOn(form.hidden ? element('again') : box);
}

undo.addEventListener('click', () => {
  if (heldByTorn() || game.busy || keyHeld) return;
  const { echo, typed } = game.undo();
  quiet();
  turns.lastElementChild.remove();
  turns.lastElementChild.classList.remove('past');
  if (typed && box.value === '') box.value = echo; // to be put another way
  showOffers();
  showSaving();
  say(word('undone'));
  if (!touch.matches) focusOn(box);
});

let slowTimer = 0;

function showBusy() {
  clearTimeout(slowTimer);
  delete document.body.dataset.busy;
  const buttons = [send, begin, undo, ...offers.querySelectorAll('button')];
  // Not disabled: that would lose the focus.
  for (const button of buttons) button.setAttribute('aria-disabled', game.busy || game.torn);
  if (!game.busy) {
    for (const button of buttons) button.classList.remove('sent');
    return;
  }
  document.body.dataset.busy = 'now';
  slowTimer = setTimeout(() => {
    document.body.dataset.busy = 'slow';
    say(word('sending'));
  }, SLOW_MS);
}

// What is seen.

function showGame() {
  start.hidden = true;
  bar.hidden = dock.hidden = element('menu-open').hidden = false;
  turns.replaceChildren();
  game.record.turns.forEach((turn, i) => showTurn(turn, game.record.first + i));
  showOffers();
  linkIcons();
  loadMenu().catch(() => {}); // whoever asks for it will hear of that
}

// showReplaced shows a game that the reader has put in another one's place.
export function showReplaced() {
  showBusy();
  quiet();
  box.value = game.record.draft;
  recall.end();
  showGame();
  showSaving();
  scrollTo(0, document.body.scrollHeight);
}

// linkIcons lets the page be kept as an app. Only who plays wants that, so the
// first visit is spared the requests.
function linkIcons() {
  if (document.querySelector('link[rel=manifest]')) return;
  for (const [rel, file] of [['manifest', 'manifest.webmanifest'], ['apple-touch-icon', 'icon.png']]) {
    const link = make('link', '');
    link.rel = rel;
    link.href = new URL(file, import.meta.url);
    document.head.append(link);
  }
}

function showTurn({ echo, text }, number) {
  const count = turnName(number);
  const heading = echo === ''
    ? make('h2', 'unseen', count)
    : make('h2', 'echo', make('span', 'unseen', count), make('span', 'typed', echo));
  const turn = make('section', 'turn', heading, ...paragraphs(text));
  turns.append(turn);
  turns.children[turns.childElementCount - 1 - NEAR_TURNS]?.classList.add('past');
  return turn;
}

function turnName(number) {
  return number === 0 ? word('opening') : word('turn', number);
}

// lastTurn names the turn that a game has come to.
export function lastTurn({ first, turns } = game.record) {
  return turnName(first + turns.length - 1);
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
  document.title = place ? word('title', place) : title;
  showButtons(element('choices'), choices);
  showButtons(element('places'), places);
  undo.hidden = game.record.undo.length === 0 || game.record.turns.length < 2;
  offers.hidden = choices.length + places.length === 0 && undo.hidden;
  element('ending').hidden = !end;
  form.hidden = element('skip').hidden = end; // there is nothing more to say
  element('aside').hidden = shelf.previous() === null;
}

function showButtons(group, list) {
  group.hidden = list.length === 0;
  group.querySelector('.buttons').replaceChildren(...list.map(({ label, kind, input }) => {
    const button = make('button', 'offer', label);
    button.type = 'button';
    button.addEventListener('click', () => {
      if (!keyHeld) play({ kind, input, echo: label, typed: false }, button);
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
  element('notice-detail').textContent = stuck ? text : ''; // the engine's own words
  element('notice-kept').hidden = element('notice-actions').hidden = !stuck;
  notice.hidden = false;
  say(message);
  if (follow) bringIn(notice);
  else offerJump(notice, 'new-notice');
}

// quiet takes back what was said of a move that has not come about.
function quiet() {
  notice.hidden = true;
  endJump();
  element('status').replaceChildren();
}

function showSaving() {
  const trouble = game.saved === 'saved' || game.torn ? '' : word(game.saved);
  if (trouble !== '' && trouble !== element('warning-text').textContent) say(trouble);
  element('warning-text').textContent = trouble;
  element('warning').hidden = trouble === '';
  showTorn();
}

// What is heard. Both regions stand empty in the page from the start. A new node
// each time, so that the same text is read again.

export function say(message) {
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
  const { top, height } = dock.getBoundingClientRect();
  return height === 0 ? innerHeight : Math.min(innerHeight, top);
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

function focusOn(target) {
  target.focus({ preventScroll: true });
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

// A phone's keyboard may lie over the page instead of making it smaller.
function liftDock() {
  const { height, offsetTop, scale } = visualViewport;
  const magnified = scale > 1.01; // by the reader's fingers
  const covered = magnified ? 0 : Math.max(0, document.documentElement.clientHeight - height - offsetTop);
  document.documentElement.style.setProperty('--covered', `${Math.round(covered)}px`);
}
for (const event of ['resize', 'scroll']) visualViewport?.addEventListener(event, liftDock);

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
  if (input !== '') play({ kind: 'say', input, echo: input, typed: true, inBox: box.value });
});

// recall brings what was typed before back into the box. The line that is being
// written waits below the newest; whatever is changed becomes that line.
const recall = {
  at: null, // the index of the line shown; null for the one being written
  draft: '',

  move(step) {
    const lines = game.record.turns.filter((turn) => turn.typed).map((turn) => turn.echo);
    const next = (this.at ?? lines.length) + step;
    if (next < 0 || next > lines.length || (step > 0 && this.at === null)) return false;
    if (this.at === null) this.draft = box.value;
    this.at = next === lines.length ? null : next;
    box.value = lines[next] ?? this.draft;
    box.setSelectionRange(box.value.length, box.value.length);
    return true;
  },

  end() {
    this.at = null;
  },
};

const STEPS = { ArrowUp: -1, ArrowDown: 1 };

box.addEventListener('keydown', (event) => {
  if (event.isComposing || event.keyCode === 229) return; // the input method's own
  if (event.shiftKey || event.ctrlKey || event.altKey || event.metaKey || !(event.key in STEPS)) return;
  if (recall.move(STEPS[event.key])) event.preventDefault();
});
box.addEventListener('input', () => recall.end());

// Beginning, beginning anew, and taking that back.

// confirmed asks, names what is at stake, and resolves to the answer.
export function confirmed(question, n = '') {
  for (const part of ['title', 'text', 'yes']) element(`ask-${part}`).textContent = word(`${question}-${part}`, n);
  ask.returnValue = '';
  ask.showModal();
  return new Promise((resolve) => {
    ask.addEventListener('close', () => resolve(ask.returnValue === 'yes'), { once: true });
  });
}

begin.addEventListener('click', () => {
  if (!keyHeld && !game.busy && !('restart' in begin.dataset)) beginGame();
});

async function restart() {
  if (heldByTorn()) return;
  game.keepDraft(box.value); // with the game, which may come back
  const sure = game.record === null ? confirmed('renew') : confirmed('restart', lastTurn());
  if (await sure) beginGame();
}

element('restore').addEventListener('click', () => {
  if (heldByTorn()) return;
  game.takeBack();
  if (game.record === null) location.reload(); // it could not be read before, either
  else showReplaced();
});

document.addEventListener('click', (event) => {
  const { dataset } = event.target.closest('[data-restart], [data-export], [data-open]') ?? {};
  if (dataset === undefined) return;
  if ('restart' in dataset) {
    element('menu').close();
    restart();
  }
  if ('export' in dataset) withMenu((menu) => menu.exportSave());
  if ('open' in dataset) withMenu((menu) => menu.open(dataset.open));
});

// loadMenu fetches menu.js before it is wanted: later it might be out of reach.
function loadMenu() {
  return import('./menu.js');
}

async function withMenu(act) {
  let menu;
  try {
    menu = await loadMenu();
  } catch {
    showProblem(new Problem('no-menu'));
    return;
  }
  act(menu);
}

element('skip').addEventListener('click', (event) => {
  event.preventDefault(); // the address stays as it is
  box.focus();
});

// Two tabs. Nothing is written, and no move made, until the reader has chosen.

function showTorn() {
  const appears = game.torn && element('torn').hidden;
  element('torn').hidden = !game.torn;
  showBusy();
  if (appears) say(element('torn-text').textContent);
}

// heldByTorn tells whether the reader has yet to choose, and if so says it again.
function heldByTorn() {
  if (game.torn) say(element('torn-text').textContent);
  return game.torn;
}

function lookElsewhere() {
  if (!shelf.changed()) return;
  if (game.record === null) {
    location.reload(); // there is nothing here to lose
    return;
  }
  game.saved = 'elsewhere';
  showSaving();
}

element('torn-this').addEventListener('click', () => {
  game.keepThis();
  showSaving();
});
element('torn-other').addEventListener('click', () => {
  game.abandon();
  location.reload();
});
addEventListener('storage', (event) => {
  if (event.key === shelf.GAME) lookElsewhere();
});

// Coming and going.

document.addEventListener('visibilitychange', () => {
  if (document.hidden) game.keepDraft(box.value);
});
addEventListener('pagehide', () => {
  game.abandon();
  showBusy();
});
addEventListener('pageshow', (event) => {
  if (event.persisted) lookElsewhere();
});

// takeUp shows what is saved: a game, one that cannot be read, or none yet.
function takeUp() {
  try {
    game.load();
  } catch (problem) {
    start.hidden = false;
    begin.dataset.restart = '';
    begin.querySelector('.idle').textContent = word('anew');
    showProblem(problem);
    return;
  }
  if (game.record === null) {
    start.hidden = false;
    return;
  }
  box.value = game.record.draft;
  showGame();
  scrollTo(0, turns.lastElementChild.getBoundingClientRect().top + scrollY - viewTop());
  if (!touch.matches) focusOn(box);
}

history.scrollRestoration = 'manual';
element('loading').remove();
takeUp();
