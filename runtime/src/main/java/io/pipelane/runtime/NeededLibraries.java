package io.pipelane.runtime;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.SymbolLookup;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The libraries that a library of Linux asks the system's loader for, as far as that does not find
 * them. The loader itself names the first alone, and who calls it may keep even that to himself.
 */
final class NeededLibraries {
  private NeededLibraries() {}

  /**
   * What a library needs and neither the folders that it names hold nor the system's loader finds;
   * ONNX Runtime's own parts may lie beside it. What is found is loaded, and stays so.
   *
   * @throws IOException when the file cannot be read, or is no library for this system
   */
  static List<String> missing(Path library) throws IOException {
    try (Arena arena = Arena.ofConfined();
        FileChannel channel = FileChannel.open(library)) {
      DynamicSection section =
          new DynamicSection(
              channel.map(FileChannel.MapMode.READ_ONLY, 0, Files.size(library), arena));
      List<Path> folders = folders(section, library.toAbsolutePath().resolveSibling(""));
      return section.strings(DynamicSection.NEEDED).stream()
          .filter(name -> !isOurPart(library, name))
          .filter(name -> folders.stream().noneMatch(f -> Files.isRegularFile(f.resolve(name))))
          .filter(name -> !isFoundBySystem(name))
          .toList();
    } catch (IndexOutOfBoundsException e) {
      throw new IOException(library + " is no library for 64-bit Linux, or torn", e);
    }
  }

  private static List<Path> folders(DynamicSection section, Path origin) {
    List<String> lists = new ArrayList<>(section.strings(DynamicSection.RPATH));
    lists.addAll(section.strings(DynamicSection.RUNPATH));
    return lists.stream()
        .flatMap(list -> Arrays.stream(list.split(":", -1)))
        .filter(folder -> !folder.isEmpty())
        .map(folder -> folder.replace("${ORIGIN}", "$ORIGIN"))
        .map(folder -> Path.of(folder.replace("$ORIGIN", origin.toString())))
        .toList();
  }

  /** ONNX Runtime loads its parts by their paths. */
  private static boolean isOurPart(Path library, String name) {
    return name.startsWith("libonnxruntime") && Files.isRegularFile(library.resolveSibling(name));
  }

  private static boolean isFoundBySystem(String name) {
    try {
      SymbolLookup.libraryLookup(name, Arena.global());
      return true;
    } catch (IllegalArgumentException e) {
      return false;
    }
  }
}
