// The calculator works without this. What it adds is an answer while one types:
// the server's own page for the same address, of which the parts that depend on
// the fields take the places of those on the screen. Nothing is calculated here.

const PAUSE_MS = 300; // without a key before the server is asked

const form = document.getElementById('question');
const said = document.getElementById('said');
const texts = document.getElementById('texts').content;
const text = (name) => texts.querySelector(`[data-text="${name}"]`).textContent;

let timer = 0;
let asking = null;

function address() {
  const query = new URLSearchParams(new FormData(form));
  if (query.get('times').trim() === '') query.delete('times');
  return `/token-bucket?${query}`;
}

function soon() {
  document.body.classList.add('stale');
  clearTimeout(timer);
  timer = setTimeout(refresh, PAUSE_MS);
}

// An XMLHttpRequest, because it is the one that makes a document of what comes;
// the site's policy leaves no other way from text to elements.
function refresh() {
  clearTimeout(timer);
  asking?.abort();
  const wanted = address();
  const request = new XMLHttpRequest();
  asking = request;
  request.open('GET', wanted);
  request.responseType = 'document';
  request.onload = () => {
    asking = null;
    if (!request.response?.getElementById('answer')) return failed();
    show(request.response);
    history.replaceState(null, '', wanted);
  };
  request.onerror = failed;
  request.send();
}

function failed() {
  asking = null;
  say(text('stale'));
}

function show(page) {
  document.body.classList.remove('stale');
  const focused = document.activeElement?.id;
  for (const old of document.querySelectorAll('[data-live]')) {
    const fresh = page.getElementById(old.id);
    // What has not changed stays, with whatever is selected or open in it.
    if (!fresh || fresh.isEqualNode(old)) continue;
    const open = old.querySelector('details')?.open;
    old.replaceChildren(...[...fresh.childNodes].map((node) => document.importNode(node, true)));
    if (open) old.querySelector('details')?.setAttribute('open', '');
  }
  for (const box of form.querySelectorAll('input')) {
    box.setAttribute('aria-invalid', page.getElementById(box.id).getAttribute('aria-invalid'));
  }
  const links = page.querySelectorAll('.chip');
  document.querySelectorAll('.chip').forEach((link, i) => {
    if (links[i]?.hasAttribute('aria-current')) link.setAttribute('aria-current', 'true');
    else link.removeAttribute('aria-current');
  });
  document.title = page.title;
  offerCopies();
  if (focused && document.activeElement?.id !== focused) document.getElementById(focused)?.focus({ preventScroll: true });
  const fault = document.getElementById(`${document.activeElement?.id}-wrong`)?.textContent;
  say(fault || document.getElementById('summary').textContent);
}

function say(what) {
  if (said.textContent !== what) said.textContent = what;
}

function offerCopies() {
  if (!navigator.clipboard) return;
  for (const button of document.querySelectorAll('[data-copy]')) button.hidden = false;
}

document.addEventListener('click', async (event) => {
  const button = event.target.closest('[data-copy]');
  if (!button) return;
  const before = button.textContent;
  await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
  button.textContent = text('copied');
  say(text('copied'));
  setTimeout(() => { button.textContent = before; }, 2000);
});

// While a word is being composed its letters are not yet meant.
form.addEventListener('input', (event) => { if (!event.isComposing) soon(); });
form.addEventListener('compositionend', soon);
form.addEventListener('submit', (event) => {
  event.preventDefault();
  refresh();
});

offerCopies();
