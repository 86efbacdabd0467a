# belfry_header_closure(OUT SOURCE_DIR HEADER...): these headers of the source tree and all of Belfry's
# that they include, as paths below SOURCE_DIR, sorted.
# belfry_install_headers(SOURCE_DIR DESTINATION): the doors and all that they lead to.
include_guard()
cmake_policy(VERSION 3.22)  # also where an installation has no project around it

# The doors: the only headers that programs name. Whatever they include is installed with them.
set(belfry_doors framework/framework.h data/data.h hooks/hooks.h models/models.h)
# The doors of those who write ops, devices, transforms that work on OpenCV's images, augmentations, or
# sources of files of records.
set(belfry_inner_doors framework/ops.h framework/backend.h data/opencv.h data/augment/definition.h
    data/augment/random.h data/augment/targets.h data/sources/file_records.h)

function(belfry_header_closure out source_dir)
  set(open ${ARGN})
  set(closure)
  while(open)
    list(POP_FRONT open header)
    if(header IN_LIST closure)
      continue()
    endif()
    list(APPEND closure ${header})
    file(STRINGS ${source_dir}/${header} lines REGEX "^#[ \t]*include[ \t]*[<\"]belfry/")
    foreach(line ${lines})
      string(REGEX REPLACE ".*belfry/([^>\"]+)[>\"].*" "\\1" included "${line}")
      if(included MATCHES "^(framework|ops|backend)\\.h$")
        set(included framework/${included})
      elseif(included STREQUAL version.h)
        set(included framework/base/version.h)
      elseif(included MATCHES "^(data|hooks|models)\\.h$")
        set(included ${CMAKE_MATCH_1}/${included})
      endif()
      list(APPEND open ${included})
    endforeach()
  endwhile()
  list(SORT closure)
  set(${out} ${closure} PARENT_SCOPE)
endfunction()

function(belfry_install_headers source_dir destination)
  belfry_header_closure(headers ${source_dir} ${belfry_doors} ${belfry_inner_doors})
  foreach(header ${headers})
    get_filename_component(folder ${header} DIRECTORY)
    file(INSTALL ${source_dir}/${header} DESTINATION ${destination}/${folder})
  endforeach()
  foreach(header ${belfry_doors} framework/ops.h framework/backend.h framework/base/version.h)
    file(INSTALL ${source_dir}/${header} DESTINATION ${destination})
  endforeach()
endfunction()
