package io.pipelane.server.hosts;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.modelstore.ModelVersion;
import io.pipelane.server.hosts.RemoteHost.Given;
import io.pipelane.server.hosts.RemoteHost.Outcome;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class HostViewTest {
  private static final Duration LEASE = Duration.ofSeconds(10);

  private static final HostAddress OWN = new HostAddress("own", 80, false);
  private long now = Long.MAX_VALUE - 5; // It may wrap around.
  private final HostCounters counters = new HostCounters();
  private final HostView view =
      new HostView(OWN, "1", this::resolve, Runnable::run, LEASE, () -> now, counters);
  private final AtomicInteger cut = new AtomicInteger();
  private final AtomicInteger resolved = new AtomicInteger();

  private static String word(String name, String instance) {
    return new Announcement(new HostAddress(name, 80, false), instance, false, 1, 0, 0, List.of())
        .write();
  }

  private InetSocketAddress resolve(HostAddress address) {
    resolved.incrementAndGet();
    return resolved.get() == 1
        ? InetSocketAddress.createUnresolved(address.host(), address.port())
        : new InetSocketAddress(address.port());
  }

  private List<String> names() {
    return view.hosts().stream().map(RemoteHost::toString).sorted().toList();
  }

  private RemoteHost only() {
    return view.hosts().iterator().next();
  }

  @Test
  void itself_isNotAmongTheOthers() {
    view.all(Map.of("own:80", word("own", "1"), "a:80", word("a", "1")));
    view.said("own:80", word("own", "another"));
    assertEquals(List.of("a:80"), names());
  }

  @Test
  void hostThatIsStillLookedUp_isNotAsked_andNobodyWaitsForThat() {
    List<Runnable> lookups = new ArrayList<>();
    HostView slow = new HostView(OWN, "1", this::resolve, lookups::add, LEASE, () -> now, counters);
    slow.said("a:80", word("a", "1"));
    slow.said("a:80", word("a", "1"));
    RemoteHost host = slow.hosts().iterator().next();
    assertFalse(host.isThere());
    assertEquals(1, lookups.size());
    resolved.incrementAndGet(); // The next lookup finds it.
    lookups.getFirst().run();
    assertTrue(host.isThere());
    slow.gone("a:80");
    assertFalse(host.isThere());
    host.give(cut::incrementAndGet).end(Outcome.LOST);
    assertEquals(1, cut.get());
  }

  @Test
  void hostWithAnAddressInNumbers_isAskedAtOnce() {
    List<Runnable> lookups = new ArrayList<>();
    HostView slow = new HostView(OWN, "1", this::resolve, lookups::add, LEASE, () -> now, counters);
    for (String address : List.of("10.0.0.5", "fd00::5")) {
      String name = new HostAddress(address, 80, false).toString();
      slow.said(name, word(address, "1"));
      assertTrue(slow.hosts().iterator().next().isThere());
      slow.gone(name);
    }
    assertEquals(List.of(), lookups);
  }

  @Test
  void hostWithAPortThatCannotBe_isLeftAside_andTheOthersAreHeard() {
    String bad = word("b", "1").replace("b:80", "b:80000");
    view.all(Map.of("a:80", word("a", "1"), "b:80", bad, "c:80", word("c", "1")));
    assertEquals(List.of("a:80", "c:80"), names());
  }

  @Test
  void hostWithoutTls_isLeftAside_byOneThatSpeaksIt_alsoWhereItTakesAnOthersName() {
    HostAddress own = new HostAddress("own", 443, true);
    HostView secure =
        new HostView(own, "1", this::resolve, Runnable::run, LEASE, () -> now, counters);
    String other =
        new Announcement(new HostAddress("b", 443, true), "1", false, 1, 0, 0, List.of()).write();
    secure.all(Map.of("a:80", word("a", "1"), "b:443", other));
    assertEquals(1, secure.hosts().size());
    assertTrue(secure.hosts().iterator().next().address.secure());
    secure.said("b:443", other.replace("https", "http"));
    assertEquals(0, secure.hosts().size());
  }

  @Test
  void whoHasGone_isCutOff() {
    view.said("b:80", word("b", "1"));
    RemoteHost lost = only();
    Given ended = lost.give(cut::incrementAndGet);
    ended.end(Outcome.ANSWERED);
    Given under = lost.give(cut::incrementAndGet);
    view.gone("b:80");
    view.gone("b:80");
    assertEquals(1, cut.get());
    under.end(Outcome.LOST);
    assertEquals(0, lost.underWay());
    Map<String, Long> counted = counters.read().getOrDefault("b:80", Map.of());
    assertEquals(1, counted.get("lost"));
    assertEquals(1, counted.get("answered"));
  }

  @Test
  void registryOutOfReach_leavesWhatWasHeard() {
    view.said("a:80", word("a", "1"));
    view.reached(false);
    assertEquals(List.of("a:80"), names());
  }

  @Test
  void whoIsNotThereOnceTheRegistryIsBack_hasALeaseToComeBack_andIsCutOffThen() {
    view.said("a:80", word("a", "1"));
    view.said("b:80", word("b", "1"));
    view.said("c:80", word("c", "1"));
    view.hosts().forEach(host -> host.give(cut::incrementAndGet));
    view.all(Map.of("own:80", word("own", "1"), "a:80", word("a", "1")));
    now += LEASE.toNanos() - 1;
    view.turn();
    view.said("b:80", word("b", "1"));
    assertEquals(List.of("a:80", "b:80", "c:80"), names());
    assertEquals(0, cut.get());
    now++;
    view.turn();
    assertEquals(List.of("a:80", "b:80"), names());
    assertEquals(1, cut.get());
  }

  @Test
  void registryThatIsBackAgain_givesAnotherLease() {
    view.said("a:80", word("a", "1"));
    view.all(Map.of());
    now += LEASE.toNanos();
    view.all(Map.of());
    view.turn();
    assertEquals(List.of("a:80"), names());
    view.gone("a:80");
    view.said("a:80", word("a", "2"));
    now += LEASE.toNanos();
    view.turn();
    assertEquals(List.of("a:80"), names());
  }

  @Test
  void hostThatSaysNonsense_isLeftAsideUntilItDoesNot() {
    view.said("a:80", word("a", "1"));
    view.said("a:80", "nonsense");
    assertEquals(List.of(), names());
    view.said("a:80", word("a", "1"));
    assertEquals(List.of("a:80"), names());
  }

  @Test
  void hostThatSaysNonsense_isCutOff() {
    view.said("a:80", word("a", "1"));
    only().give(cut::incrementAndGet);
    view.said("a:80", "nonsense");
    assertEquals(1, cut.get());
  }

  @Test
  void hostThatMovesToAnotherAddressUnderItsName_isCutOffAtTheFormerOne() {
    view.said("a:80", word("a", "1"));
    RemoteHost former = only();
    former.give(cut::incrementAndGet);
    view.said("a:80", word("a", "1").replace("http:", "https:"));
    assertEquals(1, cut.get());
    assertFalse(former.isThere());
    assertTrue(only().address.secure());
  }

  @Test
  void names_areLookedUpOnce_andAgainOnceUnknownOrStartedAnew() {
    view.said("a:80", word("a", "1"));
    assertTrue(only().socket().isUnresolved());
    view.said("a:80", word("a", "1"));
    view.turn();
    assertEquals(1, resolved.get());
    now += 1_000_000_000;
    view.turn();
    view.turn();
    view.said("a:80", word("a", "1"));
    assertEquals(2, resolved.get());
    view.said("a:80", word("a", "2"));
    assertEquals(3, resolved.get());
  }

  @Test
  void hostThatCouldNotBeReached_isLookedUpOnceALease() {
    resolved.set(1);
    view.said("a:80", word("a", "1"));
    RemoteHost host = only();
    InetSocketAddress before = host.socket();
    for (int lease = 1; lease <= 2; lease++) {
      for (int failed = 0; failed < 3; failed++) {
        host.suspectUntil(now + 100, now);
        view.lookUp(host);
      }
      assertEquals(2 + lease, resolved.get());
      now += 100;
    }
    resolved.set(0); // Its name is not known to the next lookup.
    host.suspectUntil(now + 100, now);
    view.lookUp(host);
    assertEquals(before, host.socket());
  }

  @Test
  void hostThatStartsAnewDuringALookup_isLookedUpAgain() {
    List<Runnable> lookups = new ArrayList<>();
    HostView slow = new HostView(OWN, "1", this::resolve, lookups::add, LEASE, () -> now, counters);
    resolved.set(1);
    slow.said("a:80", word("a", "1"));
    slow.said("a:80", word("a", "2"));
    assertEquals(1, lookups.size());
    lookups.getFirst().run();
    slow.turn();
    slow.turn();
    assertEquals(2, lookups.size());
  }

  private static String having(String name, boolean leaving, OfferedModel... models) {
    return new Announcement(
            new HostAddress(name, 80, false), "1", leaving, 1, 0, 0, List.of(models))
        .write();
  }

  @Test
  void modelOfAHostThatHasGone_mayComeBackForAWhile() {
    view.all(Map.of());
    view.said("a:80", having("a", false, new OfferedModel("m", 2, false, 0)));
    assertTrue(view.mayComeBack("m", 2), "it may have come since nobody had it");
    view.said("a:80", having("a", true));
    assertTrue(view.mayComeBack("m", 2));
    view.gone("a:80");
    assertTrue(view.mayComeBack("m", 0));
    assertFalse(view.mayComeBack("m", 3));
    assertFalse(view.mayComeBack("other", 0));
    now += HostView.ABSENCE.toNanos() - 1;
    view.turn();
    assertTrue(view.mayComeBack("m", 2));
    now++;
    assertFalse(view.mayComeBack("m", 2));
  }

  @Test
  void modelOfAHostThatGoes_isAtNoMomentNowhere() {
    view.said("a:80", having("a", false, new OfferedModel("m", 1, false, 0)));
    view.all(Map.of());
    List<Boolean> seen = new ArrayList<>();
    only().give(() -> seen.add(view.mayComeBack("m", 1)));
    view.gone("a:80");
    assertEquals(List.of(true), seen);
  }

  @Test
  void modelOfAHostThatTakesNoMoreRequests_doesNotComeBackForEver() {
    OfferedModel model = new OfferedModel("m", 1, false, 0);
    view.all(Map.of("a:80", having("a", false, model)));
    now += HostView.ABSENCE.toNanos(); // Its devices are lost then.
    view.said("a:80", having("a", true));
    now += HostView.ABSENCE.toNanos() - 1;
    view.said("a:80", having("a", true));
    assertTrue(view.mayComeBack("m", 1));
    now++;
    assertFalse(view.mayComeBack("m", 1));
    view.said("a:80", having("a", false, model));
    view.said("a:80", having("a", true));
    assertTrue(view.mayComeBack("m", 1), "another time");
  }

  @Test
  void hostThatIsBackWithoutAModel_hasGoneOnWithoutIt_onceItHasSaidWhatItHas() {
    OfferedModel other = new OfferedModel("other", 1, false, 0);
    HostAddress address = new HostAddress("a", 80, false);
    view.all(Map.of("a:80", having("a", false, new OfferedModel("m", 1, false, 0), other)));
    view.gone("a:80");
    view.said("a:80", having("a", false));
    assertTrue(view.mayComeBack("m", 1), "it has said nothing yet");
    List<ModelVersion> coming = List.of(new ModelVersion("another", 1));
    view.said(
        "a:80", new Announcement(address, "1", false, 1, 0, 0, List.of(other), coming).write());
    assertTrue(view.mayComeBack("m", 1), "it is not ready yet");
    view.said("a:80", having("a", false, other));
    assertFalse(view.mayComeBack("m", 1));
  }

  @Test
  void modelThatAHostHasTakenOut_doesNotComeBack() {
    view.all(Map.of("a:80", having("a", false, new OfferedModel("m", 1, false, 0))));
    view.said("a:80", having("a", false));
    view.gone("a:80");
    assertFalse(view.mayComeBack("m", 1));
  }

  @Test
  void firstWord_isAwaitedForAWhile() {
    now += HostView.ABSENCE.toNanos() - 1;
    assertTrue(view.awaitsFirstWord());
    now++;
    assertFalse(view.awaitsFirstWord());
    now--;
    view.all(Map.of());
    assertFalse(view.awaitsFirstWord());
  }

  @Test
  void hostThatSpeaksAgain_staysTheSame() {
    view.said("a:80", word("a", "1"));
    RemoteHost before = only();
    view.all(Map.of("a:80", word("a", "1")));
    view.said("a:80", word("a", "2"));
    assertTrue(before == only());
  }
}
