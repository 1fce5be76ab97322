package io.pipelane.modelstore.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PageHashesTest {
  private static final int PAGE = 1 << 20; // Several reads.

  @TempDir private Path folder;
  private final byte[] content = new byte[3 * PAGE + 5];
  private Path weights = Path.of("");

  @BeforeEach
  void write() throws IOException {
    new Random(1).nextBytes(content);
    System.arraycopy(content, 0, content, 2 * PAGE, PAGE);
    weights = written("weights.bin", content);
  }

  private Path written(String name, byte[] bytes) throws IOException {
    return Files.write(folder.resolve(name), bytes);
  }

  @Test
  void of_pagesOfTheSameBytes_areTheSameAndOthersAreNot() throws IOException {
    List<String> hashes = PageHashes.of(weights, PAGE);
    assertEquals(4, hashes.size());
    assertEquals(hashes.get(0), hashes.get(2));
    assertEquals(3, hashes.stream().distinct().count());
    content[PAGE]++;
    List<String> other = PageHashes.of(written("other.bin", content), PAGE);
    assertEquals(hashes.get(0), other.get(0));
    assertNotEquals(hashes.get(1), other.get(1));
    assertEquals(hashes.get(3), other.get(3));
  }

  /** A page that ends earlier holds something else, even if it goes on with zeros. */
  @Test
  void of_lastPage_isHashedAsFarAsItGoes() throws IOException {
    List<String> longer = PageHashes.of(written("a", new byte[PAGE]), PAGE);
    List<String> shorter = PageHashes.of(written("b", new byte[PAGE - 1]), PAGE);
    assertEquals(1, shorter.size());
    assertNotEquals(longer, shorter);
    assertEquals(List.of(), PageHashes.of(written("c", new byte[0]), PAGE));
  }

  @Test
  void of_again_doesNotReadTheFile() throws IOException {
    List<String> hashes = PageHashes.of(weights, PAGE);
    FileTime written = Files.getLastModifiedTime(weights);
    Files.write(weights, new byte[content.length]);
    Files.setLastModifiedTime(weights, written);
    assertEquals(hashes, PageHashes.of(weights, PAGE));
    assertEquals(2 * hashes.size() - 1, PageHashes.of(weights, PAGE / 2).size());
  }

  @Test
  void of_keptFileThatDoesNotFit_isMadeAnew() throws IOException {
    List<String> hashes = PageHashes.of(weights, PAGE);
    Path kept = folder.resolve("weights.bin." + PAGE + ".sha256");
    List<String> lines = Files.readAllLines(kept);
    for (List<String> wrong :
        List.of(
            List.<String>of(),
            lines.subList(0, 3),
            List.of("5", lines.get(1), lines.get(2), lines.get(3), lines.get(4)),
            List.of(lines.getFirst(), "a", "b", "c", "d"))) {
      Files.write(kept, wrong);
      assertEquals(hashes, PageHashes.of(weights, PAGE), wrong.toString());
    }
    byte[] changed = Arrays.copyOf(content, content.length);
    changed[0]++;
    Files.write(weights, changed);
    Files.setLastModifiedTime(weights, FileTime.from(Instant.now().plusSeconds(60)));
    assertNotEquals(hashes, PageHashes.of(weights, PAGE));
  }

  @Test
  void of_noFile_isAnError() {
    assertThrows(NoSuchFileException.class, () -> PageHashes.of(folder.resolve("none"), PAGE));
  }
}
