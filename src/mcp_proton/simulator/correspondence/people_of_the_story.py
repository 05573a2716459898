"""Who writes to the owner in the small mailbox, in every chapter under the same name."""

from __future__ import annotations

MUM = "Ingrid Vale <ingrid.vale@post.example>"
ANNA = "Anna Keller <anna.keller@briefkasten.example>"
TOMAS = "Tomás Ferreira <tomas@ferreira-woodwork.example>"
PRIYA = "Priya Raman <priya@harbour-museum.example>"
DANIEL = "Daniel Osei <daniel.osei@osei-lighting.example>"
HALVORSEN = "Grete Halvorsen <grete.halvorsen@hus-og-hjem.example>"
JUERGEN = "Jürgen Groß <j.gross@druckhaus-nord.example>"
YUKI = "佐藤 由紀 <yuki.sato@tegami.example>"
LI = "李伟 <li.wei@suppliers.example>"
OLGA = "Ольга Смирнова <olga@pochta.example>"
KARIM = "كريم منصور <karim.mansour@barid.example>"
MAYA = "Maya Vale <maya@kids.example>"
MARLOW = "Marlow Printing <accounts@marlow-printing.example>"
