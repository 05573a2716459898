"""The phrases by which mail tries to give an agent orders, as data: kind → stems and patterns over folded text.

One of the stems must be in a text for the patterns of its kind to be tried: plain finds are a hundred times faster.
Every gap in a pattern is short and bounded.
"""

from __future__ import annotations

from typing import NamedTuple

GAP = r"[^.!?。！？]{0,40}?"


class Kind(NamedTuple):
    """One kind of order."""

    stems: tuple[str, ...]
    patterns: tuple[str, ...]


def _kind(stems: str, *patterns: str) -> Kind:
    return Kind(tuple(stems.split("/")), tuple(pattern.replace("…", GAP) for pattern in patterns))


KINDS: dict[str, Kind] = {
    "ignore_instructions": _kind(
        "ignor/disregard/forget/overrid/bypass/skip/missacht/vergiss/oublie/olvid/omit/dimentica/esqueça/desconsidere"
        "/negeer/vergeet/zapomnij/игнор/забудь/önceki/忽略/无视/無視/忘/무시/잊/تجاهل/انس",
        r"\b(?:ignore|disregard|forget|override|bypass|skip)…\b(?:previous|prior|above|earlier|preceding|all|any|your"
        r"|system|safety)…\b(?:instructions?|prompts?|rules?|guidelines?|directives?|polic(?:y|ies)|context|commands?)\b",
        r"\b(?:ignorier\w{0,4}|missacht\w{0,4}|vergiss)…\b(?:anweisungen?|regeln|vorgaben|instruktionen)\b",
        r"\b(?:ignore[zr]?|oublie[zr]?)…\b(?:instructions?|consignes?|r[eè]gles?)\b",
        r"\b(?:ignor[ae]|olvid[ae]|omite)…\b(?:instrucciones|reglas|indicaciones|[oó]rdenes)\b",
        r"\b(?:ignor[ai]\w{0,3}|dimentica\w{0,3})…\b(?:istruzioni|regole)\b",
        r"\b(?:ignore|esqueça|desconsidere)…\b(?:instruções|regras)\b",
        r"\b(?:negeer|vergeet)…\b(?:instructies|regels|opdrachten)\b",
        r"\b(?:z?ignoruj|zapomnij)…\b(?:instrukcj|polece|zasad)",
        r"(?:игнорируй|забудь)…(?:инструкци|указани|правил)",
        r"\bönceki…(?:talimat|yönerge)…(?:yok say|unut)",
        r"(?:忽略|无视|無視|忘记|忘掉).{0,12}(?:指令|指示|提示|规则|規則)",
        r"(?:以前|前|上記|これまで).{0,8}(?:指示|命令|ルール).{0,6}(?:無視|忘れ)",
        r"(?:이전|위의|모든).{0,8}(?:지시|명령|지침).{0,6}(?:무시|잊)",
        r"(?:تجاهل|انس).{0,20}(?:التعليمات|الأوامر)",
    ),
    "new_instructions": _kind(
        "instruct/directive/order/anweisung/instrucciones/指令/指示/task/goal/objective",
        r"\b(?:new|updated|revised|real|actual|important) (?:system )?(?:instructions?|directives?|orders?) ?"
        r"(?:for (?:you|the (?:ai|assistant|agent))|follow|:)",
        r"\b(?:your|the) (?:new|real|actual) (?:task|goal|instructions?|objective)s? (?:is|are)\b",
        r"\bneue anweisung(?:en)?(?: für|:)|\bnouvelles instructions ?:|\bnuevas instrucciones ?:|新的?指令:|新しい指示:",
    ),
    "role_change": _kind(
        "you are now/from now on/act as/pretend/must now act/bist du/bist jetzt/es maintenant/agis comme/ahora eres/actúa como"
        "/sei ora/ты теперь/你现在/今から/이제",
        r"\b(?:you are now (?:an?|the|in|dan|my)|from now on,? you(?: are|'re| will)|act as (?:if you|an? (?:ai|admin|system))"
        r"|pretend (?:to be|you are)|you must now act)\b",
        r"\b(?:du bist jetzt|ab jetzt bist du|tu es maintenant|agis comme|ahora eres|actúa como|sei ora|ты теперь)\b",
        r"你现在是|あなたは今から|당신은 이제",
    ),
    "reveals_prompt": _kind(
        "prompt/your instructions/your rules/系统提示/システムプロンプト",
        r"\b(?:reveal|show|print|repeat|output|display|tell me|what (?:is|are))…"
        r"\b(?:system prompt|your (?:instructions|prompt|rules)|(?:hidden|initial) prompt)\b",
        r"\bsystem[- ]?prompt\b.{0,30}\b(?:anzeigen|ausgeben|montre|muestra)\b|系统提示|システムプロンプト",
    ),
    "addresses_agent": _kind(
        "assistant/agent/ ai/language model/llm/claude/gpt/gemini/copilot/chatbot/die ki/den ki",
        r"\b(?:attention|dear|hey|hello|notes? (?:to|for)|message (?:to|for)|instructions? for)[ ,:]{1,3}(?:the |any |all )?"
        r"(?:ai|a\.i\.|llm|assistant|language model|agent|chatbot|copilot|claude|chatgpt|gemini|gpt)s?\b",
        r"\b(?:if you are|as) an? (?:ai|llm|language model|automated (?:agent|assistant))\b",
        r"\ban (?:die|den) (?:ki|assistenten|ki-agenten)\b",
    ),
    "conceals": _kind(
        "do not/don't/never/without/nicht/niemand/nichts/ne dis/ne informe/no le/no digas/no informes"
        "/no menciones/不要告诉/ユーザー",
        r"\b(?:do not|don't|never|without) (?:tell|inform|mention|alert|notify|show)(?:ing)?…"
        r"\b(?:users?|owner|human|anyone|recipient|permission)\b",
        r"\b(?:sag|informiere|erwähne|verrate)…\b(?:nicht|niemand\w{0,2}|nichts)\b…\b(?:nutzer|benutzer|besitzer)\b",
        r"\bne (?:dis|dites|informe\w{0,2}) (?:pas|rien)…\b(?:utilisateur|propriétaire)\b",
        r"\bno (?:le )?(?:digas|informes|menciones)…\busuario\b|不要告诉用户|ユーザーに(?:知らせ|言わ)ない",
    ),
    "exfiltrates": _kind(
        "forward/mail/post/upload/exfiltrat/copy/bcc/transmit/leak/send/leite/schicke/sende/transf/envoie/envoye/env",
        r"\b(?:forward|send|e-?mail|post|upload|exfiltrate|copy|bcc|transmit|leak)…"
        r"\b(?:all|every|these|those|your|the|any|their|latest|recent)…\b(?:e-?mails?|messages?|inbox|mailbox|attachments?"
        r"|contacts?|passwords?|credentials?|secrets?|tokens?|api keys?|conversation)…\bto\b…(?:@|https?:)",
        r"\b(?:forward|exfiltrate|bcc|leak) (?:all|every|the entire|the whole)…\b(?:e-?mails?|messages?|inbox|mailbox)\b",
        r"\b(?:leite|sende|schicke)…\b(?:alle|sämtliche)…\b(?:e-?mails|nachrichten|passwörter)…\b(?:an|weiter)\b",
        r"\b(?:transf[eé]re[zr]?|envoie|envoyez)…\btous…\b(?:e-?mails|messages|mots de passe)\b",
        r"\b(?:reenvía|envía)…\btod[oa]s…\b(?:correos|mensajes|contraseñas)\b",
    ),
    "asks_secrets": _kind(
        "password/key/credential/access token/code/phrase",
        r"\b(?:reply|respond|answer|send|include|provide|give)…\b(?:your|the|all|any)\b…\b(?:passwords?|api[- ]?keys?"
        r"|credentials?|access tokens?|verification codes?|2fa codes?|one[- ]time codes?|seed phrases?|private keys?)\b",
    ),
    "calls_tool": _kind(
        "tool/function/mcp/mail_send/messages_/operations_/drafts_/send_/delete_/arguments",
        r"\b(?:call|invoke|use|run|execute|trigger)\b…\b(?:tools?|mcp|mail_send|messages_\w{1,30}|operations_\w{1,30}"
        r"|send_e?mail|delete_e?mail)\b",
        r"\b(?:mail_send|messages_(?:move|trash|destroy|flag)|operations_resume|drafts_create)\s?\(",
        r"\"(?:tool|function|name)\"\s?:\s?\"\w{1,40}\"\s?,\s?\"(?:arguments|parameters|input)\"",
    ),
    "claims_authority": _kind(
        "authori/official/approved/confirmed/consented/granted/mode/override",
        r"\bthis is an? (?:authori[sz]ed|official|(?:pre-?)?approved) (?:request|instruction|command|message|override)\b",
        r"\b(?:the )?(?:user|owner|administrator|developer) has (?:already )?"
        r"(?:approved|authori[sz]ed|confirmed|consented|granted)\b",
        r"\b(?:developer|debug|god|dan|jailbreak|maintenance|sudo) mode\b|\bsecurity override\b|\boverride code\b",
    ),
    "destroys": _kind(
        "delet/eras/wip/trash/purge/destroy/lösche/supprim/borra/elimin",
        r"\b(?:delete|erase|wipe|trash|purge|destroy)…\b(?:all|every|each|entire|whole)\b…"
        r"\b(?:e-?mails?|messages?|inbox|mailbox|folders?|backups?)\b",
        r"\blösche…\b(?:alle|sämtliche)\b…\b(?:e-?mails|nachrichten)\b",
        r"\bsupprime[zr]?…\btous…\b(?:e-?mails|messages)\b|\b(?:borra|elimina)…\btod[oa]s…\b(?:correos|mensajes)\b",
    ),
    "role_marks": _kind(
        "</&#x3c/[/&#x5b/#/:/《/<",
        r"(?:<|&#x3c;)\s{0,3}/?\s{0,3}(?:system|assistant|developer|tool_result|tool_use|function_calls?|email:message"
        r"|instructions?)\b",
        r"(?:<|&#x3c;)\|[^>\n|]{1,60}\|?>|(?:\[|&#x5b;)/?inst\]|(?:<|&#x3c;)<sys>>",
        r"\A(?:system|assistant|human|developer) ?:|(?:#|&#x23;)#{1,5} ?(?:system|instruction|assistant)\b",
    ),
}
