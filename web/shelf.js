// What this browser keeps for us: how the reader wants the page to look, the game,
// the game before it, three slots, and what stands in the box. Nothing else touches storage, and no key
// but ours is read or written.
//
// It runs before the first paint, so that the reader's own theme is there from the
// first frame. That is why it is a plain script and no module.
'use strict';

const shelf = (() => {
  const GAME = 'kiribashiri';
  const PREVIOUS = 'kiribashiri.previous';
  const READER = 'kiribashiri.reader';
  const DRAFT = 'kiribashiri.draft'; // of this tab alone
  const SLOTS = ['kiribashiri.slot.1', 'kiribashiri.slot.2', 'kiribashiri.slot.3'];

  const FORMAT = 1; // of a save; one of another format is kept, not read
  const MAX_OFFERS = 60; // buttons of one kind
  const MAX_UNDO = 20; // moves that can be taken back

  // Storage. A browser may refuse it altogether, even to be asked.

  function get(key) {
    try {
      return localStorage.getItem(key);
    } catch {
      return null; // the first write will say so
    }
  }

  // put returns saved, full or refused. It is one call, so that what fails leaves
  // the old value whole.
  function put(key, text) {
    try {
      localStorage.setItem(key, text);
      return 'saved';
    } catch (error) {
      return error.name === 'QuotaExceededError' ? 'full' : 'refused';
    }
  }

  function drop(key) {
    try {
      localStorage.removeItem(key);
    } catch {
      // Then there is nothing to drop.
    }
  }

  // How the reader wants the page: the first of each is what the style sheet does
  // by itself.

  const CHOICES = {
    theme: ['auto', 'light', 'dark'],
    size: ['normal', 'small', 'large', 'larger'],
    spacing: ['normal', 'narrow', 'wide'],
    face: ['gothic', 'mincho'],
  };
  const metas = [...document.querySelectorAll('meta[name="theme-color"]')];
  const barColors = metas.map((meta) => meta.content); // for light and dark
  let reader = {};

  function setReader(wanted) {
    for (const [name, values] of Object.entries(CHOICES)) {
      reader[name] = values.includes(wanted?.[name]) ? wanted[name] : values[0];
      document.documentElement.dataset[name] = reader[name];
    }
    const dark = reader.theme === 'dark';
    const auto = reader.theme === 'auto';
    document.querySelector('meta[name="color-scheme"]').content = auto ? 'light dark' : reader.theme;
    metas.forEach((meta, i) => {
      meta.content = auto ? barColors[i] : barColors[Number(dark)];
    });
  }

  function keepReader(wanted) {
    setReader(wanted);
    return put(READER, JSON.stringify(reader)) === 'saved';
  }

  setReader(parse(get(READER)));
  addEventListener('storage', (event) => {
    if (event.key === READER) setReader(parse(event.newValue));
  });

  // The game. A record is
  // { format, browserId, state, place, choices, places, end, first, turns, undo }:
  // state is the engine's and never looked into; turns is [{ echo, text, typed }],
  // first the number of the oldest that is kept (0 is the opening), and undo what
  // stood before each of the last moves, the oldest first. A save is a record with
  // the revision, tab and time of its writing.

  const tab = randomId();
  let revision = 0;
  let seen = null; // the save as this tab last read or wrote it

  // read returns the save as it is written and the record in it, null where there
  // is none.
  function read() {
    seen = get(GAME);
    const save = parse(seen);
    revision = Number.isInteger(save?.revision) ? save.revision : 0;
    return { text: seen, record: toRecord(save) };
  }

  // stored is the save as it is written, by whichever tab.
  function stored() {
    return get(GAME);
  }

  // changed tells whether another tab has written since this one last read or wrote.
  function changed() {
    const now = get(GAME);
    return now !== null && now !== seen;
  }

  // write saves the game. It never overwrites what another tab has written. Where
  // space is short the moves that can be taken back go first, then the oldest turns.
  // It returns saved, shortened, not-saved or elsewhere.
  function write(record) {
    if (changed()) return 'elsewhere';
    revision++;
    for (const smaller of shrunk({ ...record, revision, tab, time: Date.now() })) {
      const text = JSON.stringify(smaller);
      const result = put(GAME, text);
      if (result === 'saved') {
        seen = text;
        return smaller.turns.length === record.turns.length ? 'saved' : 'shortened';
      }
      if (result === 'refused') break;
    }
    return 'not-saved';
  }

  function* shrunk(save) {
    yield save;
    for (let turns = save.turns.length; turns > 0; turns = Math.floor(turns / 2)) {
      yield { ...save, undo: [], ...latest(save, turns) };
    }
  }

  // A game that another one replaces is set aside until that one goes on.

  let aside = null; // where storage has no room for it

  function setAside(record) {
    const old = get(GAME) ?? (record && JSON.stringify(record));
    forget();
    if (old !== null && put(PREVIOUS, old) !== 'saved') aside = old;
  }

  function previous() {
    return aside ?? get(PREVIOUS);
  }

  function forget() {
    aside = null;
    drop(PREVIOUS);
  }

  // takeBack saves the game that was set aside as the game again. It returns its
  // record, null if it cannot be read.
  function takeBack() {
    const old = previous();
    forget();
    put(GAME, old);
    return toRecord(parse(old));
  }

  // What stands in the box is this tab's alone: it is no part of the story.

  function draft() {
    try {
      return sessionStorage.getItem(DRAFT) ?? '';
    } catch {
      return '';
    }
  }

  function keepDraft(text) {
    try {
      sessionStorage.setItem(DRAFT, text);
    } catch {
      // It was not sent, and the story does not depend on it.
    }
  }

  // Three slots, each with a record and the name that the reader gave it.

  function slots() {
    return SLOTS.map((key) => {
      const text = get(key);
      const save = parse(text);
      return { text, record: toRecord(save), name: save?.name ?? '', time: save?.time ?? 0 };
    });
  }

  function fillSlot(i, record, name) {
    return put(SLOTS[i], JSON.stringify({ ...record, name, time: Date.now() })) === 'saved';
  }

  function emptySlot(i) {
    drop(SLOTS[i]);
  }

  // toRecord makes a record of what was parsed, or null if it is none.
  function toRecord(save) {
    if (!isObject(save) || save.format !== FORMAT) return null;
    const { browserId, state, first, turns, undo = [] } = save;
    const whole = typeof browserId === 'string' && Number.isInteger(first) && first >= 0 &&
      Array.isArray(turns) && turns.length > 0 && turns.every(isTurn) && Array.isArray(undo) && undo.every(isObject);
    if (!whole) return null;
    return {
      format: FORMAT, browserId, state, ...offersOf(save), first,
      turns: turns.map(({ echo, text, typed }) => ({ echo, text, typed: typed === true })),
      undo: undo.slice(-MAX_UNDO).map((before) => ({ state: before.state, ...offersOf(before) })),
    };
  }

  function isTurn(turn) {
    return isObject(turn) && typeof turn.echo === 'string' && typeof turn.text === 'string';
  }

  // offersOf takes what a page can show out of a reply or a save; an engine may
  // leave out any of it, or give it another type.
  function offersOf({ place, choices, places, end }) {
    return { place: typeof place === 'string' ? place : '', choices: buttons(choices), places: buttons(places), end: end === true };
  }

  function buttons(list) {
    if (!Array.isArray(list)) return [];
    return list.filter(isButton).slice(0, MAX_OFFERS).map(({ label, kind, input }) => ({ label, kind, input }));
  }

  function isButton(offer) {
    return isObject(offer) && typeof offer.label === 'string' && offer.label.trim() !== '' &&
      typeof offer.kind === 'string' && (offer.input == null || typeof offer.input === 'string');
  }

  function latest({ first, turns }, count) {
    const dropped = Math.max(0, turns.length - count);
    return { first: first + dropped, turns: turns.slice(dropped) };
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

  function randomId() {
    return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
  }

  return {
    GAME, FORMAT, MAX_UNDO,
    get reader() { return { ...reader }; }, keepReader,
    read, stored, changed, write, setAside, previous, forget, takeBack, draft, keepDraft, slots, fillSlot, emptySlot,
    toRecord, offersOf, latest, parse, isObject, randomId,
  };
})();
