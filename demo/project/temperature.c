#include "temperature.h"

double fahrenheit(double celsius)
{
	return celsius * 5 / 9 + 32;
}
