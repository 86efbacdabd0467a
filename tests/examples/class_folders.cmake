# class_folders(FOLDER): two images of 32 x 32 pixels in each of train/red, train/blue, test/red and
# test/blue.

function(class_folders folder)
  string(CONCAT begin [[\211PNG\015\012\032\012\000\000\000\015IHDR\000\000\000\040\000\000\000\040]]
         [[\010\002\000\000\000\374\030\355\243\000\000\000\052IDAT\170\332\143]])
  string(CONCAT middle [[\123\304\060\152\301\250\005\243\026\214\132\060\152\301\250\005\243\026\214]]
         [[\132\060\152\301\250\005\243\026\014\025\013\000]])
  set(end [[\000\000\000\000IEND\256\102\140\202]])
  set(red [[\070\241\241\101]] [[\032\066\140\075\055\264\010\122]])  # pixels; checksums
  set(blue [[\320\320\070\101]] [[\031\353\140\075\346\344\354\004]])
  foreach(colour red blue)
    list(GET ${colour} 0 pixels)
    list(GET ${colour} 1 checksums)
    foreach(file train/${colour}/1 train/${colour}/2 test/${colour}/1 test/${colour}/2)
      get_filename_component(parent ${folder}/${file} DIRECTORY)
      file(MAKE_DIRECTORY ${parent})
      execute_process(COMMAND printf "${begin}${pixels}${middle}${checksums}${end}"
                      OUTPUT_FILE ${folder}/${file}.png COMMAND_ERROR_IS_FATAL ANY)
    endforeach()
  endforeach()
endfunction()
