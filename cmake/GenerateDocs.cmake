# Reference pages from the op table and the table of passes. Run as
#   cmake -DTBLGEN=... -DOPT=... -DSOURCE=<repository> -DINCLUDES=<MLIR's include folder> -DOUT=<folder> -P GenerateDocs.cmake
# With -DCHECK=ON nothing is written: the run fails if a page in OUT is not what would be generated.
set(families
  "Conv:Convolutions" "Pool:Pooling and resizing" "Nn:Matrix products, normalisation, activation, padding"
  "Elemwise:Element-wise operators" "Reduce:Reductions, scans and sorting"
  "Transform:Shape and layout changes, creation" "Index:Gathering and scattering")
set(note "<!-- Generated (ninja tt-docs): edit the .td files in lib/Dialect/Relay instead. -->\n\n")
set(reference "${note}# Relay operators\n\nEvery operator that the graph level knows, with its attributes in Relay's order and the numbered rules it must keep. An error message names the rule: `(C3)`.\n\n")
set(list "${note}# Operators at a glance\n\n| operator | what it does | attributes | rules |\n|---|---|---|---|\n")

function(run out)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE text RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "failed: ${ARGN}")
  endif()
  # mlir-tblgen's banner is for C++.
  string(REGEX REPLACE "^(//[^\n]*\n|/\\*[^\n]*\n|\\|\\*[^\n]*\n|\\\\\\*[^\n]*\n|\n)+" "" text "${text}")
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

foreach(family ${families})
  string(REGEX MATCH "^[^:]+" name "${family}")
  string(REGEX REPLACE "^[^:]+:" "" title "${family}")
  set(table ${SOURCE}/lib/Dialect/Relay/Relay${name}.td)
  set(flags -I ${SOURCE}/lib/Dialect/Relay -I ${INCLUDES})
  run(text ${TBLGEN} -gen-relay-doc ${table} ${flags})
  string(APPEND reference "## ${title}\n\n${text}")
  run(text ${TBLGEN} -gen-relay-list ${table} ${flags})
  string(APPEND list "${text}")
endforeach()
run(passes ${OPT} --pass-table)
set(passes "<!-- Generated (ninja tt-docs): edit lib/Transforms/Passes.cpp instead. -->\n\n# Passes\n\nNames for `required_pass` and `disabled_pass`, in the order in which a compilation runs them.\n\n${passes}")

foreach(page reference list passes)
  set(file ${OUT}/relay-${page}.md)
  if(CHECK)
    set(present "")
    if(EXISTS ${file})
      file(READ ${file} present)
    endif()
    if(NOT present STREQUAL "${${page}}")
      message(FATAL_ERROR "${file} is out of date: run 'ninja tt-docs'")
    endif()
  else()
    file(WRITE ${file} "${${page}}")
  endif()
endforeach()
