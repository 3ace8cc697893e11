# ctest reads this file. It sets the label `long` on the tests that take most of the time and look for rare bugs: all
# proofs, many random schedules, many seeded bugs, all architectures. ./test.sh leaves them out; ./test.sh --all runs
# them. Each line is a regular expression that matches names of tests.

set(long_tests
  "^SmallWorld\\.Three"
  "^Rungs\\.KeepTheirMeaningAtEveryStep$"
  "^RandomWalks\\.GiveGoodKernels$"
  "^EmittedText\\.Of(EveryRung|EveryType|OneKernelForEveryShape)IsWhatTheSimulatorRuns$"
  "^WarpCalls\\.OfEveryTypeAndLayoutRunOnTheHost$"
  "^Run\\.TakesEveryTypeAndEveryFormOfAProduct$"
  "^All/Architecture\\.TakesMoreRungsWithoutSpills/"
  "^Others/"
  "Width\\.IsAtMostThatOfTheTerminal/"
  "^BitsOfAKernel\\."
  "^Emit/DispatchOf\\.IsRightForEdgeSizesGapsAndAlignments/"
  "^Emit/DispatchedKernels\\.OfTransposedOperandsAreRight/.*_bf16$"
  "^EmitStandalone\\.NvccBuildsAProgramWithoutAWarning$"
  "^Types\\.NvccTakesStandaloneFilesOfNarrowTypes$"
)

set(unmatched ${long_tests})
set(all_built TRUE)
foreach(program dsl lowering codegen runtime schedules cli known_bugs)
  if(NOT nestsmith_${program}_tests_TESTS)
    set(all_built FALSE)
  endif()
  foreach(test ${nestsmith_${program}_tests_TESTS})
    foreach(pattern ${long_tests})
      if(test MATCHES "${pattern}")
        set_tests_properties("${test}" PROPERTIES LABELS long)
        list(REMOVE_ITEM unmatched "${pattern}")
      endif()
    endforeach()
  endforeach()
endforeach()
if(all_built AND unmatched)
  message(FATAL_ERROR "tests/long_tests.cmake: no test has a name like ${unmatched}")
endif()
