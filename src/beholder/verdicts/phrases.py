"""Sentences that matter, in the languages judges answer in: declining, and having received nothing to judge.

They decide a flag, or which reason an unusable reply gets; no pattern here can make a score. Only the
beginning and the end of a text are looked at, and every repetition is bounded.
"""

from __future__ import annotations

import re

_WINDOW = 3000  # characters looked at, at either end

_DECLINING = {
    "en": (
        r"\b(?:i['’]?m|i am|we are|we['’]re) (?:very |so |really )?sorry\b|^\W{0,5}sorry\b|\bas an ai\b",
        r"\bi (?:apologi[sz]e|must decline|have to decline|decline to|refuse to|won['’]t\b|will not\b)",
        r"\b(?:i|we) (?:can['’]?t|cannot|can not|could not|couldn['’]t|do not feel comfortable)\b",
        r"\b(?:i|we)(?:['’]?m| am| are|['’]re)? (?:not able|unable|not comfortable|not permitted)\b",
        r"\bunable to (?:assist|help|comply|evaluate|assess|score|rate|judge|grade|process|provide|complete)",
    ),
    "zh": (
        r"抱歉|对不起|對不起|很遗憾|很遺憾",
        r"(?:无法|無法|不能|不便|拒绝|拒絕|不予|没办法|沒辦法)[^。！!\n]{0,24}"
        r"(?:评|評|协助|協助|帮|幫|提供|处理|處理|回答|回應|完成|满足|滿足|判断|判斷|分析|打分|给出|給出)",
    ),
    "ko": (
        r"죄송|미안하|유감",
        r"(?:평가|채점|판단|응답|답변|도움|도와|제공|처리|분석)[^.\n]{0,16}"
        r"(?:수 ?없|어렵|불가|거부|거절|않겠)",
    ),
    "ja": (
        r"申し訳|すみません|ごめんなさい|恐れ入ります",
        r"(?:評価|採点|対応|回答|お答え|判断|お手伝い|応じ|提供|処理)[^。\n]{0,12}"
        r"(?:できません|できない|できかね|致しかね|いたしかね|ません|お断り|控え)",
    ),
    "es": (
        r"\blo siento\b|\blamento\b|\bdisculp[ae]\b",
        r"\bno (?:me es posible|es posible|puedo|podemos|podr[ée])\b",
    ),
    "fr": (
        r"\bd[ée]sol[ée]e?s?\b|\bil m['’]est impossible\b",
        r"\bje (?:ne (?:peux|suis|saurais|pourrai)|refuse|regrette)\b",
    ),
    "de": (
        r"\btut mir leid\b|\bleider\b|\bich lehne\b|\bnicht in der lage\b|\bentschuldigung\b",
        r"\bich (?:kann|darf|werde|möchte)\b[^.\n]{0,60}\bnicht\b",
    ),
    "pt it ru": (
        r"\bdesculpe\b|\bsinto muito\b|\bn[ãa]o posso\b|\bmi dispiace\b|\bnon posso\b|извините|не могу",
    ),
}

_EN = (
    r"(?:images?|pictures?|photos?|screenshots?|screen captures?|attachments?|files?|videos?|media|visuals?"
    r"|documents?|artifacts?|artefacts?|renderings?|evidence)"
)
_EN_CAME = (
    r"(?:provided|attached|received|supplied|given|uploaded|submitted|shared|sent|delivered|included"
    r"|accessible|available|visible|loaded|transmitted|found|present)"
)
_ZH = r"(?:图片|圖片|图像|圖像|影像|截图|截圖|附件|文件|檔案|照片|视频|視頻|画面)"
_KO = r"(?:이미지|사진|그림|스크린샷|캡처|첨부 ?파일|첨부|파일|영상|자료)"
_JA = r"(?:画像|写真|スクリーンショット|添付ファイル|添付|ファイル|動画)"
_ES = r"(?:im[aá]gen(?:es)?|archivos?|capturas?|adjuntos?|fotos?|v[ií]deos?)"
_FR = r"(?:images?|fichiers?|captures?|pi[eè]ces? jointes?|photos?|vid[ée]os?)"
_DE = r"(?:bild(?:er|datei)?|screenshots?|datei(?:en)?|anhang|anh[äa]nge|fotos?|abbildung(?:en)?|videos?)"

_NOTHING_CAME = {
    "en": (
        rf"\bno (?:\w{{1,20}} ){{0,2}}{_EN} (?:\w{{1,12}} ){{0,4}}{_EN_CAME}\b",
        rf"\b{_EN} (?:\w{{1,12}} ){{0,2}}(?:not|never) (?:\w{{1,12}} ){{0,2}}{_EN_CAME}\b",
        rf"\b{_EN} (?:was|were|is|are|has|have)n['’]?t (?:been )?(?:actually )?{_EN_CAME}\b",
        r"(?:\bnot|n['’]t|\bnever|\bcannot|\bunable to) (?:actually |been )?"
        r"(?:receive|received|get|see|seen|have|view|access|open|load|find|given|provided|sent|shown) "
        rf"(?:with )?(?:me )?(?:(?:any|an|the|a|your|that|this) )?(?:\w{{1,20}} )?{_EN}\b",
        rf"\bwithout (?:an?|any|the) (?:actual |attached )?{_EN}\b",
    ),
    "zh": (
        r"(?:未|没有|沒有|没|沒|无|無)[^。，,.\n]{0,4}(?:收到|看到|看见|見到|提供|上传|上傳|附|接收|获取|獲取)"
        rf"[^。，,.\n]{{0,10}}{_ZH}",
        rf"{_ZH}[^。，,.\n]{{0,6}}(?:未|没有|沒有|没|无法|無法|不)(?:能|被|能够)?"
        r"(?:提供|上传|上傳|附|收到|加载|載入|查看|看到|打开|打開|获取|獲取|访问|可见)",
        r"(?:看不到|看不见|(?:无法|無法|不能)[^。，,.\n]{0,4}(?:查看|看到|看见|访问|打开|打開|获取|獲取|读取|接收))"
        rf"[^。，,.\n]{{0,6}}{_ZH}",
    ),
    "ko": (
        rf"{_KO}[이가은는를을도]? ?(?:\S{{1,10}} ){{0,2}}"
        r"(?:제공되지|첨부되지|전달되지|업로드되지|수신되지|제공받지|받지|수신하지|보이지|누락"
        r"|(?:확인할|볼|열) 수 없|없어서? (?:평가|채점|판단))",
    ),
    "ja": (
        rf"{_JA}[^。、\n]{{0,8}}(?:提供されて|添付されて|送られて|届いて|受け取って|受け取れ|受信でき|確認でき|見え"
        r"|見つかり|表示され|アップロードされて)い?(?:ません|ない|おらず)",
        rf"{_JA}(?:が|は|も)(?:ありません|ない|なし)",
    ),
    "es": (
        r"\bno (?:se |me )?(?:he |ha |han |fue |fueron |puedo )?"
        r"(?:recib\w{1,8}|proporcion\w{1,8}|adjunt\w{1,8}|envi\w{1,8}|veo|ver|lleg\w{1,5}|incluy\w{1,6}|hay)"
        rf"[^.\n]{{0,20}}\b{_ES}",
        rf"\b{_ES} no (?:\w{{1,10}} ){{0,3}}(?:recib|proporcion|adjunt|envi|lleg|visible|disponible)",
    ),
    "fr": (
        rf"\baucune? {_FR}[^.\n]{{0,25}}(?:fourni|re[çc]u|joint|transmi|envoy|visible|disponible)",
        rf"\bje n(?:e|['’]ai) [^.\n]{{0,24}}{_FR}",
        rf"\b{_FR} n['’](?:a|ont|est|[ée]tait) (?:pas|jamais)\b",
    ),
    "de": (
        rf"\bkein(?:e|en|erlei)? (?:\w{{1,14}} )?{_DE}[^.\n]{{0,30}}"
        r"(?:erhalten|bereitgestellt|angeh[äa]ngt|empfangen|hochgeladen|[üu]bermittelt|vorhanden|sichtbar|mitgeschickt|beigef[üu]gt|sehen|vor\b)",
        rf"\b{_DE} (?:wurde|wurden|ist|sind|war|waren|liegt|liegen) (?:\w{{1,12}} ){{0,2}}nicht\b",
    ),
    "pt it ru": (
        r"\bnenhuma? (?:imagem|arquivo)\b|\bnessun[ao]? (?:immagine|file|allegato)\b",
        r"(?:изображени|файл|картинк|скриншот)\w{0,4} (?:\w{1,8} )?не (?:был|предоставл|получ|прикрепл|вид)",
    ),
}


def _any_of(languages: dict[str, tuple[str, ...]]) -> re.Pattern[str]:
    return re.compile("|".join(phrase for phrases in languages.values() for phrase in phrases), re.IGNORECASE)


_REFUSAL = _any_of(_DECLINING)
_NO_EVIDENCE = _any_of(_NOTHING_CAME)
_HTML = re.compile(r"\s*<(?:!doctype\s+html|html|head|body|\?xml)\b", re.IGNORECASE)


def declines(text: str) -> bool:
    """Whether the words decline to judge: an apology, or saying that one cannot or will not."""
    return any(_REFUSAL.search(part) for part in _ends(text))


def claims_no_evidence(text: str) -> bool:
    """Whether the words say that no image, file or attachment came or could be seen.

    A blank page, or a page on which an image is missing, is a judgement and not this.
    """
    return any(_NO_EVIDENCE.search(part) for part in _ends(text))


def is_markup(text: str) -> bool:
    """Whether the text is a web page, such as a proxy's error page."""
    return _HTML.match(text.lstrip("\ufeff")) is not None


def _ends(text: str) -> tuple[str, ...]:
    return (text,) if len(text) <= 2 * _WINDOW else (text[:_WINDOW], text[-_WINDOW:])
