# cmake -DINPUT=file.json -DOUTPUT=file.inc -P EmbedJson.cmake: a text file as a C++ raw string literal.
file(READ ${INPUT} text)
file(WRITE ${OUTPUT} "R\"json(${text})json\"\n")
