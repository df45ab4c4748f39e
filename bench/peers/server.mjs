// The server that the benchmark measures ours against: what a careful Node
// programmer would write for the same work with Node's own modules. One child
// process, one line a move in and out, first come first served.
//
//   PEER_SIM='["engine","reply"]' PEER_PER_IP_PER_SEC=2 node server.mjs
//
// PEER_REPLY=line hands the engine's line on as it came instead of writing the
// parsed reply anew, which is what such servers usually do.

import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { writeSync } from 'node:fs';

const LIMITS = {
	bodyBytes: 64 * 1024,
	inputChars: 200,
	browserIdChars: 64,
	perIpPerSec: Number(process.env.PEER_PER_IP_PER_SEC ?? 2),
	queue: Number(process.env.PEER_QUEUE ?? 32),
	simReplyMs: 30_000,
};
const KINDS = new Set(['look', 'move', 'say']);
const handOn = process.env.PEER_REPLY === 'line';

const log = (entry) => writeSync(2, JSON.stringify(entry) + '\n');

// The limiter: a bucket a client, refilled when it is asked.
class RateLimit {
	constructor(perSec) {
		this.perSec = perSec;
		this.cap = perSec;
		this.buckets = new Map();
	}
	take(ip) {
		const now = performance.now();
		let b = this.buckets.get(ip);
		if (b === undefined) {
			b = { tokens: this.cap, at: now };
			this.buckets.set(ip, b);
		}
		b.tokens = Math.min(this.cap, b.tokens + ((now - b.at) / 1000) * this.perSec);
		b.at = now;
		if (b.tokens < 1) return -1;
		b.tokens -= 1;
		return b.tokens;
	}
	prune() {
		const now = performance.now();
		for (const [ip, b] of this.buckets) {
			if (now - b.at > (this.cap / this.perSec) * 1000 + 1000) this.buckets.delete(ip);
		}
	}
}
const rate = new RateLimit(LIMITS.perIpPerSec);
setInterval(() => rate.prune(), 60_000).unref();

// The engine: every move is written at once, answers come in the same order.
const [program, ...args] = JSON.parse(process.env.PEER_SIM);
const sim = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
let alive = true;
let lastId = 0;
const pending = [];
let rest = [];
sim.stdout.on('data', (chunk) => {
	let from = 0;
	for (let at; (at = chunk.indexOf(10, from)) >= 0; from = at + 1) {
		rest.push(chunk.subarray(from, at));
		const line = rest.length === 1 ? rest[0] : Buffer.concat(rest);
		rest = [];
		settle(line.toString('utf8'));
	}
	if (from < chunk.length) rest.push(chunk.subarray(from));
});
sim.on('exit', () => {
	alive = false;
	for (const p of pending.splice(0)) p.reject('engine_failed');
});

function settle(line) {
	const waiting = pending.shift();
	let reply;
	try {
		reply = JSON.parse(line);
	} catch {}
	if (waiting === undefined || reply?.id !== waiting.id) {
		sim.kill('SIGKILL');
		waiting?.reject('engine_failed');
		return;
	}
	clearTimeout(waiting.timer);
	waiting.resolve({ reply, line });
}

function play(move) {
	return new Promise((resolve, reject) => {
		const waiting = { id: ++lastId, resolve, reject, timer: undefined };
		waiting.timer = setTimeout(() => {
			reject('engine_timeout');
			sim.kill('SIGKILL');
		}, LIMITS.simReplyMs);
		pending.push(waiting);
		sim.stdin.write(JSON.stringify({ id: waiting.id, ...move }) + '\n');
	});
}

// The metrics: a count a status, and the same buckets of seconds that ours has.
const counts = new Map();
const bounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const buckets = new Array(bounds.length + 1).fill(0);
let seconds = 0;
function measure(status, took) {
	counts.set(status, (counts.get(status) ?? 0) + 1);
	let i = 0;
	while (i < bounds.length && took > bounds[i]) i++;
	buckets[i]++;
	seconds += took;
}

const SECURITY = {
	'Content-Security-Policy': "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
	'X-Content-Type-Options': 'nosniff',
	'Referrer-Policy': 'no-referrer',
	'X-Frame-Options': 'DENY',
	'Cross-Origin-Opener-Policy': 'same-origin',
	'Cross-Origin-Resource-Policy': 'same-origin',
	'Permissions-Policy': 'accelerometer=(), autoplay=(), camera=(), clipboard-read=(), clipboard-write=(self), cross-origin-isolated=(), display-capture=(), encrypted-media=(), fullscreen=(), geolocation=(), gyroscope=(), hid=(), idle-detection=(), interest-cohort=(), keyboard-map=(), magnetometer=(), microphone=(), midi=(), payment=(), picture-in-picture=(), publickey-credentials-get=(), screen-wake-lock=(), serial=(), sync-xhr=(), usb=(), xr-spatial-tracking=()',
	'Content-Type': 'application/json; charset=utf-8',
	'Cache-Control': 'no-store',
};

function clientIp(req) {
	const forwarded = req.headers['x-forwarded-for'];
	if (typeof forwarded === 'string' && forwarded.length > 0) return forwarded.split(',')[0].trim();
	return req.socket.remoteAddress ?? '';
}

function send(req, res, began, status, body, more) {
	const text = typeof body === 'string' ? body : JSON.stringify(body);
	res.writeHead(status, { ...SECURITY, ...more, 'Content-Length': Buffer.byteLength(text) });
	res.end(text);
	const took = (performance.now() - began) / 1000;
	measure(status, took);
	log({ time: new Date().toISOString(), level: 'INFO', msg: 'request', route: req.url, method: req.method, status, client: req.from, kind: req.kind, browser: req.browser, took_ms: took * 1000 });
}

const refuse = (req, res, began, status, code, error, more) => send(req, res, began, status, { ok: false, code, error }, more);

function readBody(req) {
	return new Promise((resolve, reject) => {
		const chunks = [];
		let size = 0;
		req.on('data', (chunk) => {
			size += chunk.length;
			if (size <= LIMITS.bodyBytes) chunks.push(chunk);
			else resolve(undefined);
		});
		req.on('end', () => resolve((chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)).toString('utf8')));
		req.on('error', reject);
	});
}

const FIELDS = new Set(['kind', 'input', 'state', 'browserId']);
const control = /[\u0000-\u001f\u007f]/;

// check returns a move that is in order, or undefined.
function check(text) {
	let body;
	try {
		body = JSON.parse(text);
	} catch {
		return undefined;
	}
	if (typeof body !== 'object' || body === null || Array.isArray(body)) return undefined;
	for (const name of Object.keys(body)) if (!FIELDS.has(name)) return undefined;
	if (!KINDS.has(body.kind)) return undefined;
	if (body.input != null && (typeof body.input !== 'string' || body.input.length > 2 * LIMITS.inputChars || [...body.input].length > LIMITS.inputChars || control.test(body.input))) return undefined;
	if (body.browserId != null && (typeof body.browserId !== 'string' || body.browserId.length > LIMITS.browserIdChars)) return undefined;
	return body;
}

async function turn(req, res, began) {
	if (!/^application\/json(;|$)/.test(req.headers['content-type'] ?? '')) return refuse(req, res, began, 415, 'unsupported_media_type', 'the body must be application/json');
	const text = await readBody(req);
	if (text === undefined) return refuse(req, res, began, 413, 'too_large', 'the body is too large', { Connection: 'close' });
	const body = check(text);
	if (body === undefined) return refuse(req, res, began, 400, 'bad_request', 'not a move');
	req.kind = body.kind;
	req.browser = body.browserId;
	req.from = clientIp(req);
	const left = rate.take(req.from);
	const stand = { 'RateLimit-Policy': `"ip";q=${LIMITS.perIpPerSec};w=1`, 'RateLimit': `"ip";r=${Math.max(0, Math.floor(left))};t=1` };
	if (left < 0) return refuse(req, res, began, 429, 'rate_limited', `rate limit: ${LIMITS.perIpPerSec} turns/sec per IP`, { ...stand, 'Retry-After': '1' });
	if (!alive) return refuse(req, res, began, 503, 'engine_down', 'no engine is up', { ...stand, 'Retry-After': '1' });
	if (pending.length >= LIMITS.queue) return refuse(req, res, began, 429, 'queue_full', 'too many players at once', { ...stand, 'Retry-After': '1' });
	try {
		const { reply, line } = await play({ kind: body.kind, input: body.input, state: body.state });
		send(req, res, began, reply.ok === false ? 422 : 200, handOn ? line : reply, stand);
	} catch (code) {
		refuse(req, res, began, code === 'engine_timeout' ? 504 : 502, code, 'the engine failed', stand);
	}
}

const server = createServer((req, res) => {
	const began = performance.now();
	if (req.url === '/api/turn' && req.method === 'POST') {
		turn(req, res, began).catch(() => res.destroy()); // the client has left
		return;
	}
	if (req.url === '/api/health') return send(req, res, began, alive ? 200 : 503, { ok: alive });
	refuse(req, res, began, 404, 'not_found', 'there is nothing at this address');
});
server.listen(Number(process.env.PEER_PORT ?? 0), '127.0.0.1', () => log({ msg: 'serving', addr: `127.0.0.1:${server.address().port}` }));
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => process.exit(0)); // the engine's stdin closes with us
