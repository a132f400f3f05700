"""Words that tie a sentence together and say nothing of its subject.

Only the keyword channel leaves them out. No negation stands here (not, no, without, 不, 没, 无),
and no word that also names a thing (will, can, may, us, 地, 得, 都).
"""

_ENGLISH = """
    a an the
    about at by for from in into of on onto to with
    and but if or than then
    i me my mine you your yours he him his she her hers it its we our ours they them their theirs
    this that these those there
    what which who whom whose when where why how
    am is are was were be been being do does did has have had having
    could should would shall
"""
ENGLISH = frozenset(_ENGLISH.split())

_CHINESE = """
    我们 你们 他们 她们 它们 我們 你們 他們 她們 它們
    这个 那个 这些 那些 这里 那里 這個 那個 這些 這裡 那裡
    什么 怎么 怎样 如何 哪些 哪个 哪里 为什么 什麼 怎麼 怎樣 哪個 哪裡 為什麼
"""
CHINESE_WORDS = frozenset(_CHINESE.split())

CHINESE_CHARACTERS = frozenset("的了是在和与及或也就而之于以吗呢吧啊我你他她它这那與於嗎這")
"""A word or pair of nothing but these is no content word either: 我的, 这是, 以及."""
