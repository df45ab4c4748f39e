// What stands behind the menu: the records (three slots, files, the story as a
// text), how the page is to look, and the help. Nothing here is needed to play.

import { confirmed, element, game, lastTurn, make, say, showReplaced, title, word } from './app.js';

const MAX_FILE = 6_000_000; // bytes; more than a browser keeps for a page
const MAX_NAME = 40; // characters of a slot's name

const records = element('records');
const reader = element('reader');

// open shows one of the dialogs in place of the one that is shown.
export function open(id) {
  for (const other of document.querySelectorAll('dialog[open]')) other.close();
  if (id === 'records') showRecords();
  if (id === 'reader') showReader();
  element(id).showModal();
}

for (const dialog of document.querySelectorAll('dialog')) {
  // With an input method Escape ends the composition and nothing else.
  dialog.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && (event.isComposing || event.keyCode === 229)) event.preventDefault();
  });
}

// Records.

function showRecords() {
  const playing = game.record !== null;
  tell('');
  element('now').textContent = playing ? word('now', lastTurn()) : word('no-game');
  element('name-field').hidden = element('story-as-text').hidden = !playing;
  element('export').hidden = !playing && shelf.stored() === null;
  element('name').placeholder = game.record?.place || title;
  element('slots').replaceChildren(...shelf.slots().map(showSlot));
}

function showSlot({ text, record, name, time }, i) {
  const empty = text === null;
  const label = empty ? word('empty') : record === null ? word('unread') : name;
  const about = record && [record.place, lastTurn(record), date(time)].filter(Boolean).join(word('comma'));
  const buttons = [];
  const add = (key, act) => {
    const button = make('button', 'offer', word(key));
    button.type = 'button';
    button.ariaLabel = word(`${key}-slot`, label);
    button.addEventListener('click', act);
    buttons.push(button);
  };
  if (game.record !== null) add('keep', () => keep(i, empty, label));
  if (record !== null) add('open', () => replace(record));
  if (!empty) add('erase', () => erase(i, label));
  return make('li', 'slot', make('p', 'slot-name', word('slot', i + 1), label), make('p', 'small', about ?? ''), make('div', 'buttons', ...buttons));
}

async function keep(i, empty, label) {
  if (!empty && !(await confirmed('overwrite', label))) return;
  const name = element('name').value.trim().slice(0, MAX_NAME) || game.record.place || title;
  const kept = shelf.fillSlot(i, game.record, name);
  if (kept) element('name').value = '';
  showRecords();
  tell(kept ? word('kept', name) : word('not-kept'));
}

async function erase(i, label) {
  if (!(await confirmed('erase', label))) return;
  shelf.emptySlot(i);
  showRecords();
  tell(word('erased', label));
}

// replace puts a record in the game's place, after a question if there is a game.
async function replace(record) {
  if (game.torn) {
    tell(element('torn-text').textContent);
    return;
  }
  game.keepDraft(element('box').value); // with the game, which may come back
  if (game.record !== null && !(await confirmed('replace', lastTurn()))) return;
  game.replace(record);
  records.close();
  showReplaced();
  say(word('opened'));
}

function tell(message) {
  element('records-status').textContent = message;
}

// Files.

// exportSave hands the reader the game as a file, or else the save as it is.
export function exportSave() {
  const text = game.record === null ? shelf.stored() : JSON.stringify(game.record);
  download(text, 'json', 'application/json');
}

element('export').addEventListener('click', exportSave);

element('import').addEventListener('click', () => element('file').click());
element('file').addEventListener('change', async () => {
  const file = element('file').files[0];
  if (file === undefined) return;
  const record = file.size > MAX_FILE ? null : shelf.toRecord(shelf.parse(await file.text()));
  element('file').value = ''; // so that the same file can be chosen again
  if (record === null) tell(word('no-record', file.name));
  else replace(record);
});

function download(text, extension, type) {
  const link = make('a', '');
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = `${title}-${new Date().toLocaleDateString('sv')}.${extension}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

// The story as a text.

function transcript() {
  const parts = game.record.turns.map(({ echo, text }) => (echo === '' ? text : `${word('prompt')}${echo}\n\n${text}`));
  return `${title}\n\n${parts.join('\n\n')}\n`;
}

element('copy').addEventListener('click', async () => {
  try {
    await navigator.clipboard.writeText(transcript());
    tell(word('copied'));
  } catch {
    tell(word('not-copied'));
  }
});

element('text').addEventListener('click', () => download(transcript(), 'txt', 'text/plain'));

function date(time) {
  return time > 0 ? new Date(time).toLocaleString('ja', { dateStyle: 'medium', timeStyle: 'short' }) : '';
}

// How the page is to look. Each choice is seen at once.

function showReader() {
  for (const [name, value] of Object.entries(shelf.reader)) {
    reader.querySelector(`[name="${name}"][value="${value}"]`).checked = true;
  }
  element('reader-status').textContent = '';
}

reader.addEventListener('change', ({ target }) => {
  const kept = shelf.keepReader({ ...shelf.reader, [target.name]: target.value });
  element('reader-status').textContent = kept ? '' : word('reader-not-kept');
});
