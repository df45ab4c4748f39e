// ランプと戸: a whole engine. Debian: apt install g++ nlohmann-json3-dev
// g++ -std=c++17 -O2 -o lamp examples/engines/lamp.cpp && KIRI_SIM=./lamp
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

using json = nlohmann::json;

const std::map<std::string, std::string> names = {{"hut", "小屋"}, {"door", "戸口"}};

json scene(const std::string& text, const std::string& at, bool lit, bool end = false) {
  json reply = {{"ok", true}, {"text", text}, {"state", {{"at", at}, {"lit", lit}}}, {"place", names.at(at)},
                {"end", end}, {"choices", json::array()}, {"places", json::array()}};
  if (end) return reply;
  const std::string say = at == "door" ? "戸を開ける" : "ランプをともす";
  reply["choices"].push_back({{"label", say}, {"kind", "say"}, {"input", say}});
  for (const auto& [place, name] : names)
    if (place != at) reply["places"].push_back({{"label", name + "へ"}, {"kind", "move"}, {"input", place}});
  return reply;
}

json play(const std::string& kind, const std::string& said, const json& state) {
  if (kind == "new") return scene("日が暮れて、小屋の中は暗い。棚にランプがある。海側に戸がひとつ。", "hut", false);
  const std::string at = state.at("at");  // each throws where the state is none of ours
  const bool lit = state.at("lit");
  names.at(at);
  const auto has = [&](const char* word) { return said.find(word) != std::string::npos; };
  if (kind == "move" && names.count(said))
    return scene(names.at(said) + "まで歩いた。" + (lit ? "灯りもついてくる。" : "足もとが見えない。"), said, lit);
  if (has("ランプ") && at == "hut") return scene("ランプをともした。影が壁に伸びる。", at, true);
  if (has("開") && at == "door" && lit)
    return scene("灯りに鍵穴が浮かぶ。戸が開いて、流氷の海が白く光った。おしまい。", at, lit, true);
  if (has("開") && at == "door") return scene("手さぐりでは、鍵穴が見つからない。", at, lit);
  return scene("波の音だけが聞こえる。", at, lit);
}

int main() {
  std::ios::sync_with_stdio(false);  // otherwise long lines are read slowly
  for (std::string line; std::getline(std::cin, line);) {
    json reply;
    try {
      const json move = json::parse(line);
      if (move.at("kind") != "ping") reply = play(move.at("kind"), move.value("input", ""), move.value("state", json()));
    } catch (const std::exception& mistake) {  // a state that is none of ours: refuse this one move, and go on
      std::cerr << mistake.what() << '\n';
      reply = {{"ok", false}, {"code", "bad_state"}, {"error", "この続きからは遊べません。"}};
    }
    reply["id"] = std::stoull(line.substr(6));  // it stands first, after {"id":, so it can be read whatever follows
    std::cout << reply.dump() << std::endl;     // std::endl flushes
  }
}
