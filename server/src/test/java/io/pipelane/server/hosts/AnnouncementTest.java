package io.pipelane.server.hosts;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import java.net.URI;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class AnnouncementTest {
  private static final HostAddress ADDRESS = new HostAddress("10.0.0.5", 8000, false);

  private static Announcement of(List<OfferedModel> models) {
    return new Announcement(ADDRESS, "5f2a", false, 8, 12, 1536, models);
  }

  @Test
  void read_isWhatWasWritten() {
    Announcement busy =
        of(
            List.of(
                new OfferedModel("bert base", 1, false, 0),
                new OfferedModel("l\"stm", 3, true, 24_576),
                new OfferedModel("new", 1, true, 0, "9f2c01d4ab37aaaa", false)));
    Announcement leaving = new Announcement(ADDRESS, "x", true, 1, 0, 0, List.of());
    Announcement importing =
        new Announcement(
            ADDRESS, "x", false, 1, 0, 0, List.of(), List.of(new ModelVersion("bert base", 2)));
    assertEquals(importing, Announcement.read(importing.write()));
    assertEquals(busy, Announcement.read(busy.write()));
    assertEquals(leaving, Announcement.read(leaving.write()));
    assertEquals(
        "{\"url\":\"http://10.0.0.5:8000\",\"instance\":\"5f2a\",\"lanes\":8,\"wait_us\":12,"
            + "\"run_us\":1536,\"models\":[[\"bert base\",1,0],[\"l\\\"stm\",3,24576,\"state\"],"
            + "[\"new\",1,0,\"state\",\"own-timeout\",\"#9f2c01d4ab37\"]]}",
        busy.write());
  }

  @Test
  void read_whatALaterVersionAdds_isLeftAside() {
    Announcement read =
        Announcement.read(
            "{\"new\":{\"a\":[1]},\"url\":\"https://h\",\"models\":[[\"m\",2,5,\"state\",\"hot\"]]}");
    assertEquals(new HostAddress("h", 443, true), read.address());
    assertEquals(List.of(new OfferedModel("m", 2, true, 5)), read.models());
  }

  @Test
  void read_textCutAnywhere_isRefused() {
    String whole = of(List.of(new OfferedModel("m", 1, true, 7, "ab"))).write();
    for (int end = 0; end < whole.length(); end++) {
      String cut = whole.substring(0, end);
      assertThrows(StatusException.class, () -> Announcement.read(cut), cut);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "[]",
        "{}",
        "{\"url\":\"ftp://h\"}",
        "{\"url\":\"no url at all\"}",
        "{\"url\":\"http://h\",\"lanes\":\"many\"}",
        "{\"url\":\"http://h\",\"lanes\":99999999999}",
        "{\"url\":\"http://h\",\"models\":{}}",
        "{\"url\":\"http://h\",\"models\":[[1,1,1]]}",
        "{\"url\":\"http://h\",\"coming\":{}}",
        "{\"url\":\"http://h\",\"coming\":[[\"m\",0]]}",
        "{\"url\":\"http://h\",\"coming\":[[\"m\",1}",
        "{\"url\":\"http://h\",\"models\":[[\"m\",[[[[[[[[[[1]]]]]]]]]],1]]}",
      })
  void read_whatIsNone_isRefused(String text) {
    assertThrows(StatusException.class, () -> Announcement.read(text));
  }

  @Test
  void read_hasALimit() {
    List<OfferedModel> most =
        IntStream.range(0, Announcement.MOST_MODELS)
            .mapToObj(i -> new OfferedModel("model-" + i, 1, false, i, "9f2c01d4ab37"))
            .toList();
    String text = of(most).write();
    assertTrue(text.length() < 250_000, () -> text.length() + " characters");
    assertEquals(most, Announcement.read(text).models());
    String more = text.replace("]]}", "],[\"one\",1,0]]}");
    assertThrows(StatusException.class, () -> Announcement.read(more));
  }

  @Test
  void read_takesAsManyModels_whoseNamesAreAsLongAsTheyMayBe() {
    List<OfferedModel> most =
        IntStream.range(0, Announcement.MOST_MODELS)
            .mapToObj(i -> "%0255d".formatted(i))
            .map(name -> new OfferedModel(name, 1_000_000_000, true, 1L << 40, "9f2c01d4ab37"))
            .toList();
    assertEquals(most, Announcement.read(of(most).write()).models());
  }

  @ParameterizedTest
  @CsvSource({"-5, 0", "0, 0", "1, 1", "3, 3", "5, 4", "7, 6", "11, 8", "1000, 768", "1024, 1024"})
  void coarse_dropsWhatHardlyCounts(long micros, long expected) {
    assertEquals(expected, Announcement.coarse(micros));
  }

  @Test
  void coarse_isNeverMoreAndNeverUnderTwoThirds() {
    LongStream.range(0, 60)
        .flatMap(bit -> LongStream.of(1L << bit, (1L << bit) - 1, 3L << bit >> 1))
        .filter(micros -> micros < 1L << 40)
        .forEach(
            micros -> {
              long coarse = Announcement.coarse(micros);
              assertTrue(coarse <= micros && 3 * coarse >= 2 * micros, () -> micros + " " + coarse);
            });
    assertEquals(1L << 40, Announcement.coarse(Long.MAX_VALUE));
  }

  @ParameterizedTest
  @CsvSource({
    "http://10.0.0.5:8000, 10.0.0.5:8000, http://10.0.0.5:8000",
    "https://host/path, host:443, https://host:443",
    "http://[::1]:1, [::1]:1, http://[::1]:1"
  })
  void address_isWhatTheUrlNames(URI url, String name, String written) {
    HostAddress address = HostAddress.of(url);
    assertEquals(name, address.toString());
    assertEquals(written, address.url());
    assertEquals(address, HostAddress.of(URI.create(address.url())));
  }
}
