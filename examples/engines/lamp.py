# ランプと戸: a whole engine. KIRI_SIM='python3 examples/engines/lamp.py'
import json, re, sys, traceback

NAMES = {"hut": "小屋", "door": "戸口"}

def scene(text, at, lit, end=False):
    say = "戸を開ける" if at == "door" else "ランプをともす"
    return {"ok": True, "text": text, "state": {"at": at, "lit": lit}, "place": NAMES[at], "end": end,
            "choices": [] if end else [{"label": say, "kind": "say", "input": say}],
            "places": [{"label": NAMES[p] + "へ", "kind": "move", "input": p} for p in NAMES if p != at and not end]}

def play(kind, said, state):
    if kind == "new":
        return scene("日が暮れて、小屋の中は暗い。棚にランプがある。海側に戸がひとつ。", "hut", False)
    at, lit = state["at"], state["lit"]
    if at not in NAMES or type(lit) is not bool:
        raise ValueError("no state of this game")
    if kind == "move" and said in NAMES:
        return scene(NAMES[said] + "まで歩いた。" + ("灯りもついてくる。" if lit else "足もとが見えない。"), said, lit)
    if "ランプ" in said and at == "hut":
        return scene("ランプをともした。影が壁に伸びる。", at, True)
    if "開" in said and at == "door" and lit:
        return scene("灯りに鍵穴が浮かぶ。戸が開いて、流氷の海が白く光った。おしまい。", at, lit, end=True)
    if "開" in said and at == "door":
        return scene("手さぐりでは、鍵穴が見つからない。", at, lit)
    return scene("波の音だけが聞こえる。", at, lit)

for line in sys.stdin.buffer:
    reply = {"id": int(re.match(rb'\{"id":(\d+)', line)[1])}  # it stands first, so it can be read whatever follows
    try:
        move = json.loads(line)
        if move["kind"] != "ping":
            reply |= play(move["kind"], move.get("input") or "", move.get("state"))
    except Exception:  # a state that is none of ours: refuse this one move, and go on
        traceback.print_exc()  # to stderr
        reply |= {"ok": False, "code": "bad_state", "error": "この続きからは遊べません。"}
    print(json.dumps(reply), flush=True)
