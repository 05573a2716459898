"""Words for everyday letters in the languages the made-up mailbox is written in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Style = tuple[str, Literal["quoted-printable", "base64", "8bit"]]
_LATIN: tuple[Style, ...] = (("utf-8", "quoted-printable"), ("utf-8", "8bit"), ("iso-8859-1", "quoted-printable"))
_UTF8: tuple[Style, ...] = (("utf-8", "base64"), ("utf-8", "8bit"))


@dataclass(frozen=True, slots=True)
class Tongue:
    """A language with its share of the mail, the charsets it is sent in, and things people say in it."""

    code: str
    share: int
    styles: tuple[Style, ...]
    given: tuple[str, ...]
    family: tuple[str, ...]
    greeting: str
    farewell: str
    subjects: tuple[str, ...]
    sentences: tuple[str, ...]
    family_first: bool = False

    @property
    def domain(self) -> str:
        """Where people of this language have their mail."""
        return f"{self.code}-mail.example"


TONGUES = (
    Tongue(
        "en",
        46,
        (("utf-8", "quoted-printable"), ("us-ascii", "8bit"), ("utf-8", "8bit")),
        ("Amelia", "Ben", "Chloe", "David", "Emma", "Frank", "Grace", "Henry", "Isla", "Jack"),
        ("Adler", "Brooks", "Carter", "Dunn", "Ellis", "Foster", "Gray", "Hughes", "Irwin", "Jones"),
        "Hi {},",
        "Best,",
        (
            "Notes from Tuesday",
            "Question about the schedule",
            "Draft for your review",
            "Keys and parking",
            "Dinner next week?",
            "Photos from the walk",
            "Updated figures",
            "Thank you",
            "Moving the call",
            "The book you mentioned",
        ),
        (
            "I have put the new version in the shared folder.",
            "Could you look at the second page before Thursday?",
            "The train was late again, so I missed the first half.",
            "We settled on the blue cover in the end.",
            "Let me know whether the earlier slot suits you better.",
            "The figures for March are still missing.",
            "I will bring the keys tomorrow morning.",
            "Thanks for the quick answer yesterday.",
            "The garden is finally dry enough to dig.",
            "Please don't forget the form for the library.",
        ),
    ),
    Tongue(
        "de",
        14,
        _LATIN,
        ("Jörg", "Käthe", "Lukas", "Mareike", "Sören"),
        ("Müller", "Groß", "Schäfer", "Weiß", "Böhm"),
        "Hallo {},",
        "Viele Grüße",
        ("Rückfrage zum Termin", "Entwurf für die Broschüre", "Fotos vom Wochenende", "Schlüssel", "Grüße aus München"),
        (
            "Die neue Fassung liegt im Ordner.",
            "Könntest du bis Donnerstag drüberschauen?",
            "Der Zug hatte natürlich Verspätung.",
            "Am Ende haben wir uns für Blau entschieden.",
            "Die Zahlen für März fehlen noch.",
            "Ich bringe die Schlüssel morgen früh mit.",
        ),
    ),
    Tongue(
        "fr",
        8,
        _LATIN,
        ("Chloé", "François", "Hélène", "Théo"),
        ("Lefèvre", "Besançon", "Garçon", "Noël"),
        "Bonjour {},",
        "Bien à toi",
        ("Réunion déplacée à jeudi", "Les photos de l'été", "Une question sur le café", "Ébauche à relire"),
        (
            "La nouvelle version est dans le dossier partagé.",
            "Pourrais-tu relire la deuxième page avant jeudi ?",
            "Le train était encore en retard.",
            "Nous avons finalement choisi la couverture bleue.",
            "Il manque les chiffres de mars.",
        ),
    ),
    Tongue(
        "es",
        6,
        _LATIN,
        ("Íñigo", "Begoña", "Martín", "Lucía"),
        ("Peña", "Núñez", "García", "Ibáñez"),
        "Hola, {}:",
        "Un abrazo",
        ("¿Cenamos el jueves?", "Fotos de la excursión", "Cambio de horario", "Pequeña duda"),
        (
            "La versión nueva está en la carpeta.",
            "¿Puedes mirar la segunda página antes del jueves?",
            "El tren llegó tarde otra vez.",
            "Al final elegimos la portada azul.",
            "Mañana traigo las llaves.",
        ),
    ),
    Tongue(
        "ru",
        7,
        (("utf-8", "base64"), ("windows-1251", "base64"), ("koi8-r", "base64")),
        ("Анна", "Борис", "Вера", "Глеб"),
        ("Иванова", "Петров", "Соколова", "Жуков"),
        "Здравствуйте, {}!",
        "С уважением",
        ("Вопрос по договору", "Фотографии с дачи", "Встреча в четверг", "Спасибо за книгу"),
        (
            "Новая версия лежит в общей папке.",
            "Посмотрите, пожалуйста, вторую страницу до четверга.",
            "Поезд опять опоздал.",
            "В конце концов мы выбрали синюю обложку.",
            "Цифр за март пока нет.",
        ),
    ),
    Tongue(
        "zh",
        6,
        (("utf-8", "base64"), ("gb18030", "base64")),
        ("伟", "芳", "静", "强"),
        ("王", "李", "张", "刘"),
        "{}，您好：",
        "祝好",
        ("关于会议时间", "照片已上传", "合同草稿", "谢谢您的帮助"),
        (
            "新版本已经放在共享文件夹里。",
            "请在星期四之前看一下第二页。",
            "火车又晚点了。",
            "我们最后选了蓝色封面。",
            "三月份的数据还没有。",
        ),
        family_first=True,
    ),
    Tongue(
        "ja",
        5,
        (("utf-8", "base64"), ("iso-2022-jp", "8bit")),
        ("由紀", "健太", "美咲", "大輔"),
        ("佐藤", "鈴木", "高橋", "田中"),
        "{}様",
        "よろしくお願いします",
        ("打ち合わせの件", "写真をお送りします", "資料の確認のお願い", "ありがとうございました"),
        (
            "新しい版を共有フォルダに入れました。",
            "木曜日までに二ページ目をご確認ください。",
            "電車がまた遅れました。",
            "結局、青い表紙に決めました。",
            "三月の数字がまだ届いていません。",
        ),
        family_first=True,
    ),
    Tongue(
        "ar",
        4,
        _UTF8,
        ("كريم", "ليلى", "سامي", "هدى"),
        ("منصور", "حداد", "نصار", "خوري"),
        "مرحبا {}،",
        "مع التحية",
        ("موعد الاجتماع", "صور الرحلة", "سؤال عن العقد"),
        (
            "النسخة الجديدة في المجلد المشترك.",
            "هل يمكنك مراجعة الصفحة الثانية قبل الخميس؟",
            "تأخر القطار مرة أخرى.",
            "اخترنا الغلاف الأزرق في النهاية.",
        ),
    ),
    Tongue(
        "xx",
        4,
        _UTF8,
        ("Maya", "Leo", "Zoë"),
        ("☀️", "Vale", "🐙"),
        "Heyyy {} 👋",
        "💛",
        ("Party 🎉 on Saturday?", "look at this cat 🐈", "🍕 tonight"),
        (
            "omg the cake 🎂 was so good",
            "are you coming on Saturday? 🕺",
            "I saw three dogs 🐕🐕🐕 today",
            "bring your bike 🚲",
        ),
    ),
)
