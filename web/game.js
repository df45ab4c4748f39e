// The game without the page: the talk with the server, the record of play, and
// its save. It owns the one move that may be under way and the one storage key.
// A move changes the record only when the server has accepted it.

const KEY = 'kiribashiri'; // the only key of this origin that is ours
const FORMAT = 1; // of the save; a save of another format is kept, not read
const MOVE_MS = 10_000; // after that a move counts as lost; sending it again is safe
const MAX_TURNS = 2000; // turns kept; the oldest go first
const MAX_OFFERS = 60; // buttons of one kind
const MAX_ERROR = 500; // characters shown of an engine's own error text

// A Problem is why a move was not accepted. Its reason is one of: busy, offline,
// slow, stumbled, down, failed, refused, rejected, poison, unreadable; text is the
// engine's own, if it gave one.
export class Problem extends Error {
  constructor(reason, text = '') {
    super(reason);
    this.reason = reason;
    this.text = text;
  }
}

// A Game's record is null until a game has begun, then
// { format, browserId, state, place, choices, places, end, first, turns, draft }:
// state is the engine's and never looked into; turns is [{ echo, text }], and
// first the number of the oldest that is kept (0 is the opening).
export class Game {
  record = null;
  saved = 'saved'; // or not-saved, or elsewhere: another tab has written since
  #store = new Store();
  #flight = null; // of the move under way; a reply to any other is dropped

  // load takes up the saved game. It throws a Problem if there is a save that
  // cannot be read; the save stays until another game has begun.
  load() {
    const text = this.#store.read();
    if (text === null) return;
    const record = readRecord(text);
    if (record === null) throw new Problem('unreadable');
    this.record = record;
  }

  get busy() {
    return this.#flight !== null;
  }

  // begin starts a game anew and resolves to its opening turn.
  begin() {
    const browserId = this.record?.browserId ?? newBrowserId();
    return this.#send('/api/new', { browserId }, (reply) => {
      const turn = { echo: '', text: textOf(reply) };
      this.record = { format: FORMAT, browserId, state: reply.state, first: 0, turns: [turn], draft: '', ...offersOf(reply) };
      return turn;
    });
  }

  // play makes one move and resolves to its turn. echo is how the move reads in
  // the story.
  play({ kind, input, echo }) {
    const { state, browserId } = this.record;
    return this.#send('/api/turn', { kind, input, state, browserId }, (reply) => {
      const turn = { echo, text: textOf(reply) };
      const { first, turns } = this.record;
      this.record = {
        ...this.record,
        ...latest(first, [...turns, turn], MAX_TURNS),
        ...offersOf(reply),
        state: reply.state === undefined ? state : reply.state,
        draft: '',
      };
      return turn;
    });
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
    this.#save();
  }

  // movedElsewhere tells whether another tab has written since this one did.
  movedElsewhere() {
    return this.#store.changed();
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
      const turn = accept(reply);
      this.#save();
      return turn;
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

  #save() {
    this.saved = this.#store.write(this.record);
  }
}

// The server.

async function post(path, move, signal) {
  const response = await fetch(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(move),
    signal,
  });
  const body = parse(await response.text());
  if (response.ok && isObject(body)) return body;
  const text = response.status === 422 && typeof body?.error === 'string' ? body.error : '';
  throw new Problem(reasonOf(response.status, body?.code), text.slice(0, MAX_ERROR));
}

function reasonOf(status, code) {
  switch (status) {
    case 413: // only the state can have grown so large
      return 'unreadable';
    case 422:
      if (code === 'poison_move') return 'poison';
      return String(code).includes('state') ? 'unreadable' : 'rejected';
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

// An engine may leave out any field of a reply, or give it another type.

function textOf(reply) {
  return typeof reply.text === 'string' ? reply.text : '';
}

function offersOf(reply) {
  return {
    place: typeof reply.place === 'string' ? reply.place : '',
    choices: buttons(reply.choices),
    places: buttons(reply.places),
    end: reply.end === true,
  };
}

function buttons(list) {
  if (!Array.isArray(list)) return [];
  return list.filter(isButton).slice(0, MAX_OFFERS).map(({ label, kind, input }) => ({ label, kind, input }));
}

function isButton(offer) {
  return isObject(offer) && typeof offer.label === 'string' && offer.label.trim() !== '' &&
    typeof offer.kind === 'string' && (offer.input == null || typeof offer.input === 'string');
}

// The save.

class Store {
  #seen = null; // the save as this tab last read or wrote it

  read() {
    try {
      this.#seen = localStorage.getItem(KEY);
    } catch {
      // Storage is refused; the first write will say so.
    }
    return this.#seen;
  }

  changed() {
    try {
      const now = localStorage.getItem(KEY);
      return now !== null && now !== this.#seen;
    } catch {
      return false;
    }
  }

  // write saves in one call, so that a failure leaves the last good save whole.
  // It never overwrites what another tab has written.
  write(record) {
    if (this.changed()) return 'elsewhere';
    for (let turns = record.turns.length; turns > 0; turns = Math.floor(turns / 2)) {
      const text = JSON.stringify({ ...record, ...latest(record.first, record.turns, turns) });
      try {
        localStorage.setItem(KEY, text);
        this.#seen = text;
        return 'saved';
      } catch (error) {
        // A full storage may still hold a shorter story.
        if (error.name !== 'QuotaExceededError') break;
      }
    }
    return 'not-saved';
  }
}

function readRecord(text) {
  const record = parse(text);
  if (!isObject(record) || record.format !== FORMAT) return null;
  const { browserId, state, first, turns, draft } = record;
  const whole = typeof browserId === 'string' && Number.isInteger(first) && typeof draft === 'string' &&
    Array.isArray(turns) && turns.length > 0 && turns.every(isTurn);
  return whole ? { format: FORMAT, browserId, state, first, turns, draft, ...offersOf(record) } : null;
}

function isTurn(turn) {
  return isObject(turn) && typeof turn.echo === 'string' && typeof turn.text === 'string';
}

function latest(first, turns, count) {
  const dropped = Math.max(0, turns.length - count);
  return { first: first + dropped, turns: turns.slice(dropped) };
}

function newBrowserId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return 'b-' + Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
