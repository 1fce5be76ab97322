package io.pipelane.bench.architecture;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** What the pages of the repository point at is there, and their tables are whole. */
class DocumentationTest {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
  private static final Pattern LINK = Pattern.compile("]\\(([^)\\s]+)\\)");
  private static final Pattern CODE = Pattern.compile("`[^`]*`");
  private static final Pattern CELL_END = Pattern.compile("(?<!\\\\)\\|");
  private static final Pattern SCHEME = Pattern.compile("^[a-z]+:.*");

  @Test
  void pages_everyRelativeLinkResolves() throws Exception {
    List<String> broken = new ArrayList<>();
    List<Path> pages = pages();
    for (Path page : pages) {
      for (String link : links(page)) {
        if (!resolves(page, link)) {
          broken.add(ROOT.relativize(page) + ": " + link);
        }
      }
    }

    assertTrue(pages.contains(ROOT.resolve("README.md")), pages.toString());
    assertEquals(List.of(), broken);
  }

  @Test
  void guide_indexNamesEveryPage() throws Exception {
    Path guide = ROOT.resolve("docs/guide");
    Set<String> unnamed = new TreeSet<>();
    for (Path page : pages()) {
      if (guide.equals(page.getParent())) {
        unnamed.add(page.getFileName().toString());
      }
    }
    assertTrue(unnamed.remove("README.md"), unnamed.toString());

    unnamed.removeAll(links(guide.resolve("README.md")));

    assertEquals(Set.of(), unnamed);
  }

  @Test
  void pages_everyRowOfATableHasTheColumnsOfItsHeader() throws Exception {
    List<String> uneven = new ArrayList<>();
    int rows = 0;
    for (Path page : pages()) {
      int columns = 0;
      for (String line : prose(page)) {
        if (!line.startsWith("|")) {
          columns = 0;
          continue;
        }
        rows++;
        int cells = CELL_END.split(line.strip(), -1).length - 2;
        columns = columns == 0 ? cells : columns;
        if (cells != columns || !line.strip().endsWith("|")) {
          uneven.add(
              "%s: %d of %d columns: %s"
                  .formatted(ROOT.relativize(page), cells, columns, line.strip()));
        }
      }
    }

    assertTrue(rows > 0, "no tables found");
    assertEquals(List.of(), uneven);
  }

  private static boolean resolves(Path page, String link) throws IOException {
    if (SCHEME.matcher(link).matches()) {
      return true;
    }
    int mark = link.indexOf('#');
    String file = mark < 0 ? link : link.substring(0, mark);
    Path target = file.isEmpty() ? page : page.resolveSibling(file).normalize();
    if (!target.startsWith(ROOT) || !Files.exists(target)) {
      return false;
    }
    return mark < 0 || anchors(target).contains(link.substring(mark + 1));
  }

  private static List<String> links(Path page) throws IOException {
    List<String> links = new ArrayList<>();
    for (String line : prose(page)) {
      LINK.matcher(CODE.matcher(line).replaceAll(""))
          .results()
          .map(m -> m.group(1))
          .forEach(links::add);
    }
    return links;
  }

  /**
   * A heading's anchor as GitHub makes it; a second one of the same words has a number behind it.
   */
  private static Set<String> anchors(Path page) throws IOException {
    Set<String> anchors = new TreeSet<>();
    Map<String, Integer> times = new HashMap<>();
    for (String line : prose(page)) {
      if (line.startsWith("#")) {
        String text = line.replaceFirst("^#+\\s+", "").replaceAll("]\\([^)]*\\)", "");
        String anchor =
            text.strip()
                .toLowerCase(Locale.ROOT)
                .replaceAll("[^\\p{L}\\p{N} _-]", "")
                .replace(' ', '-');
        int before = times.merge(anchor, 1, Integer::sum) - 1;
        anchors.add(before == 0 ? anchor : anchor + "-" + before);
      }
    }
    return anchors;
  }

  /** The lines that are not code. */
  private static List<String> prose(Path page) throws IOException {
    List<String> lines = new ArrayList<>();
    boolean fenced = false;
    for (String line : Files.readAllLines(page)) {
      if (line.startsWith("```")) {
        fenced = !fenced;
      } else if (!fenced && !line.startsWith("    ")) {
        lines.add(line);
      }
    }
    return lines;
  }

  private static List<Path> pages() throws IOException {
    List<Path> pages = new ArrayList<>();
    Files.walkFileTree(
        ROOT,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult preVisitDirectory(Path folder, BasicFileAttributes attributes) {
            String name = folder.getFileName().toString();
            return !folder.equals(ROOT) && (name.equals("target") || name.startsWith("."))
                ? FileVisitResult.SKIP_SUBTREE
                : FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
            if (file.toString().endsWith(".md")) {
              pages.add(file);
            }
            return FileVisitResult.CONTINUE;
          }
        });
    return pages;
  }
}
