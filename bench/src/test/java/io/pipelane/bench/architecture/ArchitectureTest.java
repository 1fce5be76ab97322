package io.pipelane.bench.architecture;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideOutsideOfPackages;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noMethods;
import static com.tngtech.archunit.library.Architectures.layeredArchitecture;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.core.importer.ImportOption.DoNotIncludeTests;
import com.tngtech.archunit.core.importer.Location;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;

@AnalyzeClasses(
    packages = "io.pipelane",
    importOptions = {DoNotIncludeTests.class, ArchitectureTest.WithoutTestJars.class})
class ArchitectureTest {
  /** Leaves out the jars with other modules' tests. */
  static final class WithoutTestJars implements ImportOption {
    @Override
    public boolean includes(Location location) {
      return !location.contains("-tests.jar");
    }
  }

  /** Each module uses those before it; the load generator stands aside, on config and protocol. */
  @ArchTest
  static final ArchRule modulesDependOneWay =
      layeredArchitecture()
          .consideringOnlyDependenciesInAnyPackage("io.pipelane..")
          .layer("config")
          .definedBy("io.pipelane.config..")
          .layer("protocol")
          .definedBy("io.pipelane.protocol..")
          .layer("runtime")
          .definedBy("io.pipelane.runtime..")
          .layer("model-store")
          .definedBy("io.pipelane.modelstore..")
          .layer("lanes")
          .definedBy("io.pipelane.lanes..")
          .layer("switcher")
          .definedBy("io.pipelane.switcher..")
          .layer("cluster")
          .definedBy("io.pipelane.cluster..")
          .layer("server")
          .definedBy("io.pipelane.server..")
          .layer("loadgen")
          .definedBy("io.pipelane.loadgen..")
          .layer("demo")
          .definedBy("io.pipelane.demo..")
          .layer("bench")
          .definedBy("io.pipelane.bench..")
          .whereLayer("runtime")
          .mayOnlyAccessLayers("config")
          .whereLayer("model-store")
          .mayOnlyAccessLayers("config", "protocol", "runtime")
          .whereLayer("lanes")
          .mayOnlyAccessLayers("config", "runtime", "model-store")
          .whereLayer("switcher")
          .mayOnlyAccessLayers("config", "runtime", "model-store", "lanes")
          .whereLayer("cluster")
          .mayOnlyAccessLayers("config", "model-store", "lanes", "switcher")
          .whereLayer("server")
          .mayOnlyAccessLayers(
              "config", "protocol", "runtime", "model-store", "lanes", "switcher", "cluster")
          .whereLayer("loadgen")
          .mayOnlyAccessLayers("config", "protocol")
          .whereLayer("config")
          .mayNotAccessAnyLayer()
          .whereLayer("protocol")
          .mayNotAccessAnyLayer()
          .whereLayer("demo")
          .mayOnlyBeAccessedByLayers("bench")
          .whereLayer("bench")
          .mayNotBeAccessedByAnyLayer();

  /** What has happened is told by a name that is no question. */
  @ArchTest
  static final ArchRule methodsNamedAsQuestionsAnswer =
      noMethods()
          .that()
          .haveNameMatching("(is|has|are|can|may)[A-Z].*")
          .should()
          .haveRawReturnType(void.class);

  /** A module's root package is left out: it holds both the front door and what all share. */
  @ArchTest
  static final ArchRule packagesBelowAModulesRootFormNoCycles =
      slices().matching("io.pipelane.(*).(*)..").should().beFreeOfCycles();

  /** Every nested package is one of its own here, and the root too. */
  @ArchTest
  static final ArchRule packagesOfTheLanesFormNoCycles =
      slices().matching("io.pipelane.(lanes..)").should().beFreeOfCycles();

  /** The same without the root. */
  @ArchTest
  static final ArchRule packagesOfTheSwitcherFormNoCycles =
      slices().matching("io.pipelane.switcher.(**)").should().beFreeOfCycles();

  @ArchTest
  static final ArchRule packagesOfTheRuntimeFormNoCycles =
      slices().matching("io.pipelane.(runtime..)").should().beFreeOfCycles();

  @ArchTest
  static final ArchRule packagesOfTheServerFormNoCycles =
      slices().matching("io.pipelane.(server..)").should().beFreeOfCycles();

  @ArchTest
  static final ArchRule packagesOfTheLoadGeneratorFormNoCycles =
      slices().matching("io.pipelane.(loadgen..)").should().beFreeOfCycles();

  /** The server speaks to ONNX Runtime's C API; its Java API is what we compare ourselves with. */
  @ArchTest
  static final ArchRule onnxRuntimesJavaApiIsForComparisonOnly =
      noClasses()
          .that(resideOutsideOfPackages("io.pipelane.demo.plain..", "io.pipelane.bench.."))
          .and()
          .doNotHaveFullyQualifiedName("io.pipelane.demo.Demonstration")
          .should()
          .dependOnClassesThat(resideInAPackage("ai.onnxruntime.."));

  @ArchTest
  static final ArchRule nettyStaysAtTheEdge =
      noClasses()
          .that(
              resideOutsideOfPackages(
                  "io.pipelane.server.http..",
                  "io.pipelane.server.grpc..",
                  "io.pipelane.server.hosts..",
                  "io.pipelane.server.memory..",
                  "io.pipelane.server.net..",
                  "io.pipelane.server.protocol..",
                  "io.pipelane.server.ensemble..",
                  "io.pipelane.loadgen..",
                  "io.pipelane.bench.bare.."))
          .should()
          .dependOnClassesThat(resideInAPackage("io.netty.."));

  @ArchTest
  static final ArchRule grpcStaysInTheFrontEnds =
      noClasses()
          .that(
              resideOutsideOfPackages(
                  "io.pipelane.protocol..",
                  "io.pipelane.server.grpc..",
                  "io.pipelane.server.net..",
                  "io.pipelane.loadgen..",
                  "io.pipelane.bench.bare.."))
          .should()
          .dependOnClassesThat(resideInAPackage("io.grpc.."));

  /** A host that is alone loads none of it. */
  @ArchTest
  static final ArchRule etcdIsOneRegistryOfHosts =
      noClasses()
          .that()
          .haveNameNotMatching("io\\.pipelane\\.server\\.hosts\\.EtcdSession(\\$.*)?")
          .should()
          .dependOnClassesThat(resideInAPackage("io.etcd.."));

  @ArchTest
  static final ArchRule commandLinesStayInTheirPackages =
      noClasses()
          .that(
              resideOutsideOfPackages(
                  "io.pipelane.server.cli..",
                  "io.pipelane.loadgen",
                  "io.pipelane.demo",
                  "io.pipelane.bench.."))
          .should()
          .dependOnClassesThat(resideInAPackage("picocli.."));

  /** What is logged goes through the platform's own facade. */
  @ArchTest
  static final ArchRule loggingIsThePlatforms =
      noClasses()
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage(
              "org.slf4j..", "org.apache.logging..", "org.apache.commons.logging..");
}
