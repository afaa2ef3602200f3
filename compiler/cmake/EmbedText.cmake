# EmbedText.cmake - cmake -DTEXT=file -DLITERAL=file -P: a text becomes a string
# literal of C++, whose only word that it must not have is )embedded".

file(READ "${TEXT}" text)
file(WRITE "${LITERAL}" "R\"embedded(${text})embedded\"\n")
